// An ESXi host as govmomi's simulator has it, for tests: TLS with the certificate and the key of the arguments, on a
// port of the loopback interface that it prints, until its standard input ends.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"

	"github.com/vmware/govmomi/simulator"
)

func main() {
	certificate, err := tls.LoadX509KeyPair(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	host := simulator.ESX()
	if err := host.Create(); err != nil {
		log.Fatal(err)
	}
	defer host.Remove()
	host.Service.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	host.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(os.Getenv("VTAX_ESXI_USER"), os.Getenv("VTAX_ESXI_PASSWORD"))}
	server := host.Service.NewServer()
	defer server.Close()
	fmt.Println(server.URL.Port())
	io.Copy(io.Discard, os.Stdin)
}
