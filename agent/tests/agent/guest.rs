//! # `guest.configure` in a plain network namespace

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::network::Namespace;
use crate::process::Agent;

const MAC: &str = "02:76:74:00:00:01";
const PEER_MAC: &str = "02:76:74:00:00:02";

fn configuration(mac: &str) -> Value {
    json!({
        "modules": [],
        "nics": [{
            "mac": mac, "address": "198.18.0.1/24", "mtu": 1400,
            "neighbours": [{"address": "198.18.0.2", "mac": PEER_MAC}],
        }],
        "forward": true,
    })
}

fn read(namespace: &Namespace, key: &'static str) -> String {
    namespace.within(move || std::fs::read_to_string(format!("/proc/sys/net/{key}")).unwrap())
}

#[test]
#[ignore = "needs root"]
fn a_nic_is_found_by_its_address_and_configured() {
    let (guest, peer) = (Namespace::make(), Namespace::make());
    guest.join("uut0", MAC, &peer, "port0", PEER_MAC);
    guest.ip("link set uut0 down");
    let mut agent = Agent::start(&["--netns", &guest.path()]);

    // A second time changes nothing.
    for _ in 0..2 {
        let reply = agent.call("guest.configure", configuration(MAC));
        assert_eq!(
            reply,
            json!({"nics": [{"mac": MAC, "interface": "uut0", "driver": "veth"}]})
        );

        let links: Value = serde_json::from_str(&guest.ip("-j address show uut0")).unwrap();
        assert_eq!(links[0]["mtu"], 1400);
        assert_eq!(links[0]["operstate"], "UP");
        assert_eq!(links[0]["addr_info"].as_array().unwrap().len(), 1);
        assert_eq!(links[0]["addr_info"][0]["local"], "198.18.0.1");
        assert_eq!(links[0]["addr_info"][0]["prefixlen"], 24);

        let neighbours: Value =
            serde_json::from_str(&guest.ip("-j neighbour show dev uut0")).unwrap();
        assert_eq!(neighbours.as_array().unwrap().len(), 1);
        assert_eq!(neighbours[0]["dst"], "198.18.0.2");
        assert_eq!(neighbours[0]["lladdr"], PEER_MAC);
        assert_eq!(neighbours[0]["state"], json!(["PERMANENT"]));

        assert_eq!(read(&guest, "ipv4/ip_forward"), "1\n");
        assert_eq!(read(&guest, "ipv4/conf/uut0/rp_filter"), "0\n");
        assert_eq!(read(&guest, "ipv4/conf/all/rp_filter"), "0\n");
        assert_eq!(read(&guest, "ipv4/conf/uut0/send_redirects"), "0\n");
    }
}

#[test]
#[ignore = "needs root"]
fn an_ipv6_nic_does_nothing_by_itself() {
    let (guest, peer) = (Namespace::make(), Namespace::make());
    guest.join("uut0", MAC, &peer, "port0", PEER_MAC);
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    let mut configuration = configuration(MAC);
    configuration["nics"][0]["address"] = "2001:2::1/64".into();
    configuration["nics"][0]["neighbours"][0]["address"] = "2001:2::2".into();
    for _ in 0..2 {
        agent.call("guest.configure", configuration.clone());
        // A kernel's own thread makes it no longer tentative, even where nothing is to be detected.
        let deadline = Instant::now() + Duration::from_secs(10);
        while guest
            .ip("address show dev uut0 tentative")
            .contains("2001:2::1")
        {
            assert!(Instant::now() < deadline, "the address stays tentative");
        }
        let links: Value = serde_json::from_str(&guest.ip("-j address show uut0")).unwrap();
        let addresses = links[0]["addr_info"].as_array().unwrap();
        assert_eq!(addresses.len(), 1, "no link-local address: {addresses:?}");
        assert_eq!(addresses[0]["local"], "2001:2::1");
        assert_eq!(addresses[0]["prefixlen"], 64);
        assert!(addresses[0]["tentative"].is_null(), "{addresses:?}");
        let neighbours: Value =
            serde_json::from_str(&guest.ip("-6 -j neighbour show dev uut0 nud permanent")).unwrap();
        assert_eq!(neighbours.as_array().unwrap().len(), 1);
        assert_eq!(neighbours[0]["dst"], "2001:2::2");
        assert_eq!(neighbours[0]["lladdr"], PEER_MAC);
        assert_eq!(read(&guest, "ipv6/conf/all/forwarding"), "1\n");
        assert_eq!(read(&guest, "ipv6/conf/default/disable_ipv6"), "1\n");
        assert_eq!(read(&guest, "ipv6/conf/uut0/disable_ipv6"), "0\n");
        assert_eq!(read(&guest, "ipv6/conf/uut0/accept_ra"), "0\n");
    }
}

fn routed(network: &str, gateway: &str) -> Value {
    let mut configuration = configuration(MAC);
    configuration["nics"][0]["routes"] = json!([{"network": network, "gateway": gateway}]);
    configuration
}

#[test]
#[ignore = "needs root"]
fn a_network_behind_a_neighbour_is_routed_there() {
    let (guest, peer) = (Namespace::make(), Namespace::make());
    guest.join("uut0", MAC, &peer, "port0", PEER_MAC);
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    for _ in 0..2 {
        agent.call("guest.configure", routed("198.19.0.0/24", "198.18.0.2"));
        let routes: Value = serde_json::from_str(&guest.ip("-j route show 198.19.0.0/24")).unwrap();
        assert_eq!(routes.as_array().unwrap().len(), 1, "{routes}");
        assert_eq!(routes[0]["gateway"], "198.18.0.2");
        assert_eq!(routes[0]["dev"], "uut0");
    }
}

#[test]
#[ignore = "needs root"]
fn a_route_that_cannot_be_is_named() {
    let (guest, peer) = (Namespace::make(), Namespace::make());
    guest.join("uut0", MAC, &peer, "port0", PEER_MAC);
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    for (network, gateway) in [
        ("198.19.0.0/24", "198.20.0.2"),
        ("198.19.0.9/24", "198.18.0.2"),
        ("198.19.0.0/24", "2001:2::2"),
    ] {
        let (code, message) = agent.refusal("guest.configure", routed(network, gateway));
        assert_eq!(code, -32_000);
        let words = format!("cannot enter the route to {network} via {gateway} on uut0");
        assert!(message.contains(&words), "{message}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_nic_that_never_comes_does_not_block_the_agent() {
    let guest = Namespace::make();
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    let id = agent.request("guest.configure", configuration("02:76:74:00:00:99"));
    agent.call("ping", json!({}));
    let reply = agent.abort(id);
    assert_eq!(reply["error"]["code"], -32_000);
}

#[test]
#[ignore = "needs root"]
fn a_missing_carrier_is_named_when_time_runs_out() {
    let (guest, peer) = (Namespace::make(), Namespace::make());
    guest.join("uut0", MAC, &peer, "port0", PEER_MAC);
    peer.ip("link set port0 down");
    let mut agent = Agent::start(&["--netns", &guest.path()]);
    let (code, message) = agent.refusal("guest.configure", configuration(MAC));
    assert_eq!(code, -32_000);
    assert!(
        message.contains(&format!("{MAC} (uut0): no carrier")),
        "{message}"
    );
}
