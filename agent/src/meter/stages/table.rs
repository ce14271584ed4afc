//! The params as the BPF programs go by them: points and trails by number.

use std::collections::BTreeSet;

use super::hook::Hook;
use super::site::Site;
use super::skeleton::{Place, Point, Trail};
use super::wire::{StagesOpenParams, StagesPoint, StagesTrail};
use crate::api::bounds;
use crate::api::values::check_count;
use crate::error::Error;

/// As in stages.bpf.c, trails.h and followed.h.
pub(super) const MOST_TRAILS: usize = bounds::MOST_TRAILS as usize;
pub(super) const MOST_POINTS: usize = bounds::MOST_POINTS as usize;
const MOST_TRAIL_ENDS: usize = bounds::MOST_TRAIL_ENDS as usize;
const NONE: u8 = 0xff;
const PLACE_BITS: u32 = 10;

/// Of 64 bits: its multiples are spread evenly (Knuth, The Art of Computer Programming, 6.4).
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is watched, checked and numbered.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) sites: Vec<Site>,
    /// A hook at a site, by its place in `sites`; its own place is its number.
    pub(super) points: Vec<(Hook, usize)>,
    pub(super) trails: Vec<NumberedTrail>,
}

#[derive(Debug)]
pub(super) struct NumberedTrail {
    pub(super) name: String,
    pub(super) points: Vec<usize>,
    pub(super) stages: Vec<String>,
    /// Where its total is filed, its stages behind it.
    pub(super) first_filed: usize,
}

impl Table {
    pub(super) fn of(params: &StagesOpenParams) -> Result<Self, Error> {
        check_count("trails", params.trails.len(), 1..=bounds::MOST_TRAILS)?;
        let names = params.trails.iter().map(|trail| &trail.name);
        check_names(names, |at| format!("trails[{at}].name"))?;
        let mut table = Self::default();
        let mut first_filed = 0;
        for (at, trail) in params.trails.iter().enumerate() {
            let numbered = table.numbered(&format!("trails[{at}]"), trail, first_filed)?;
            first_filed += numbered.points.len();
            table.trails.push(numbered);
        }
        for (at, trail) in table.trails.iter().enumerate() {
            let last = trail.points[trail.points.len() - 1];
            if table.ends(last).count() > MOST_TRAIL_ENDS {
                let problem = format!("more than {MOST_TRAIL_ENDS} trails end at its last point");
                return Err(Error::params(format!("trails[{at}]"), problem));
            }
        }
        Ok(table)
    }

    fn numbered(
        &mut self,
        field: &str,
        trail: &StagesTrail,
        first_filed: usize,
    ) -> Result<NumberedTrail, Error> {
        let count = trail.points.len();
        check_count(
            &format!("{field}.points"),
            count,
            2..=bounds::MOST_TRAIL_POINTS,
        )?;
        let stages = format!("{field}.stages");
        let between = count as u64 - 1;
        check_count(&stages, trail.stages.len(), between..=between)?;
        check_names(trail.stages.iter(), |at| format!("{stages}[{at}]"))?;
        let mut points = Vec::with_capacity(count);
        for (at, point) in trail.points.iter().enumerate() {
            let field = format!("{field}.points[{at}]");
            let number = self.point(&field, point)?;
            if points.contains(&number) {
                return Err(Error::params(field, "the trail passes it twice"));
            }
            points.push(number);
        }
        Ok(NumberedTrail {
            name: trail.name.clone(),
            points,
            stages: trail.stages.clone(),
            first_filed,
        })
    }

    fn point(&mut self, field: &str, point: &StagesPoint) -> Result<usize, Error> {
        let found = Site::find(field, point)?;
        let same = |site: &Site| (site.inode, site.index) == (found.inode, found.index);
        let site = self.sites.iter().position(same).unwrap_or_else(|| {
            self.sites.push(found);
            self.sites.len() - 1
        });
        let wanted = (point.hook, site);
        if let Some(number) = self.points.iter().position(|&known| known == wanted) {
            return Ok(number);
        }
        if self.points.len() == MOST_POINTS {
            let problem = format!("one point more than the {MOST_POINTS} that all trails may have");
            return Err(Error::params(field, problem));
        }
        self.points.push(wanted);
        Ok(self.points.len() - 1)
    }

    /// The trails that end at a point.
    fn ends(&self, point: usize) -> impl Iterator<Item = u8> {
        let trails = self.trails.iter().enumerate();
        trails.filter_map(move |(at, trail)| {
            (trail.points.last() == Some(&point)).then_some(at as u8)
        })
    }

    /// How many entries all trails file into.
    pub(super) fn entries(&self) -> usize {
        self.trails.iter().map(|trail| trail.points.len()).sum()
    }

    /// The hooks that have to be watched.
    pub(super) fn hooks(&self) -> BTreeSet<Hook> {
        let watched = self.points.iter().map(|&(hook, _)| hook);
        watched
            .flat_map(|hook| [Some(hook), hook.needs()])
            .flatten()
            .collect()
    }

    /// A factor that gives each site an entry of its own in `stages_places`, and these entries.
    pub(super) fn placed(&self) -> (u64, Vec<u32>) {
        let entries = |factor: u64| -> Vec<u32> {
            let keys = self.sites.iter().map(Site::key);
            keys.map(|key| (key.wrapping_mul(factor) >> (64 - PLACE_BITS)) as u32)
                .collect()
        };
        let apart =
            |entries: &[u32]| entries.iter().collect::<BTreeSet<_>>().len() == entries.len();
        // Every odd number is one to try; with the most sites about one in eight will do.
        (0..)
            .map(|number: u64| number.wrapping_mul(GOLDEN_RATIO) | 1)
            .map(|factor| (factor, entries(factor)))
            .find(|(_, entries)| apart(entries))
            .expect("different keys come apart")
    }

    pub(super) fn kernel_place(&self, site: usize) -> Place {
        let mut place = Place {
            netns: self.sites[site].inode,
            interface: self.sites[site].index,
            ..Place::default()
        };
        place.points.fill(NONE);
        for (number, &(hook, at)) in self.points.iter().enumerate() {
            if at == site {
                place.points[hook as usize] = number as u8;
            }
        }
        place
    }

    pub(super) fn kernel_points(&self) -> [Point; MOST_POINTS] {
        let mut points = [Point {
            is_first: 0,
            ends: [NONE; MOST_TRAIL_ENDS],
        }; MOST_POINTS];
        for (number, point) in points.iter_mut().enumerate() {
            point.is_first = self
                .trails
                .iter()
                .any(|trail| trail.points[0] == number)
                .into();
            for (place, trail) in point.ends.iter_mut().zip(self.ends(number)) {
                *place = trail;
            }
        }
        points
    }

    pub(super) fn kernel_trails(&self) -> [Trail; MOST_TRAILS] {
        let mut trails = [Trail::default(); MOST_TRAILS];
        for (of_kernel, trail) in trails.iter_mut().zip(&self.trails) {
            of_kernel.points = trail.points.len() as u32;
            of_kernel.first_filed = trail.first_filed as u32;
            for (place, &point) in of_kernel.point.iter_mut().zip(&trail.points) {
                *place = point as u8;
            }
        }
        trails
    }
}

/// Names are short, and each is there once.
fn check_names<'a>(
    names: impl Iterator<Item = &'a String>,
    field: impl Fn(usize) -> String,
) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for (at, name) in names.enumerate() {
        if !(1..=bounds::LONGEST_STAGE_NAME).contains(&(name.chars().count() as u64)) {
            let problem = format!("has to have 1 to {} characters", bounds::LONGEST_STAGE_NAME);
            return Err(Error::params(field(at), problem));
        }
        if !known.insert(name) {
            return Err(Error::params(field(at), format!("`{name}` is there twice")));
        }
    }
    Ok(())
}
