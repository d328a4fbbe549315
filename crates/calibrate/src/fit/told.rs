//! What points can tell of a drive, and what a parameter needs to be told.

use crate::point::Point;

/// Which points a parameter needs to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Any.
    Any,
    /// Points in a closed loop.
    Closed,
    /// Requests of several sizes.
    Sizes,
    /// Requests of several sizes, of which two loads move nearly as many bytes, one of at least
    /// twice the size or depth of the other: as long as larger loads move more, what limits them is
    /// not the bytes.
    Bandwidth,
    /// Paced points: reads beside writes at known loads.
    Paced,
    /// Points of a drive of which nobody knows what it held.
    UnknownState,
    /// Any, but with a start that others tell first: it is found in the structures that fit best
    /// after the first look.
    Later,
}

/// What points can tell, apart from what any can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) closed: bool,
    pub(super) sizes: bool,
    pub(super) bandwidth: bool,
    pub(super) paced: bool,
    pub(super) unknown_state: bool,
    /// The first look is over.
    pub(super) later: bool,
}

impl Told {
    /// What these points can tell.
    pub(super) fn by(points: &[Point]) -> Self {
        let any = |is_it: fn(&Point, &Point) -> bool| {
            points.first().is_some_and(|first| points.iter().any(|point| is_it(point, first)))
        };
        Self {
            closed: any(|point, _| !point.operation.is_paced()),
            sizes: any(|point, first| point.block_bytes != first.block_bytes),
            bandwidth: is_limited_by_bytes(points),
            paced: any(|point, _| point.operation.is_paced()),
            unknown_state: any(|point, _| point.has_unknown_state()),
            later: false,
        }
    }

    pub(super) fn meets(self, needs: Needs) -> bool {
        match needs {
            Needs::Any => true,
            Needs::Closed => self.closed,
            Needs::Sizes => self.sizes,
            Needs::Bandwidth => self.sizes && self.bandwidth,
            Needs::Paced => self.paced,
            Needs::UnknownState => self.unknown_state,
            Needs::Later => self.later,
        }
    }
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Requests in a second.
    Rate,
    /// Requests of one job in a second.
    RateOfAJob,
    /// Megabytes (1,000,000 bytes) in a second.
    Bandwidth,
}

impl Peak {
    /// The highest value measured at points.
    pub(super) fn of<'a>(self, points: impl Iterator<Item = &'a Point>) -> f64 {
        let value = |point: &Point| match self {
            Self::Rate => point.figures.iops.map(|rate| rate.0),
            Self::RateOfAJob => point.figures.iops.map(|rate| rate.0 / f64::from(point.numjobs)),
            Self::Bandwidth => point.figures.bandwidth.map(|rate| rate.0 * 1.048_576),
        };
        points.filter_map(value).fold(0.0, f64::max)
    }
}

/// Bandwidths that differ by less than this share are nearly equal.
const BANDWIDTHS: f64 = 0.2;

/// Whether the highest bandwidth is that of another load as well, with requests twice as large or
/// half as large at least, or with twice or half as many outstanding.
fn is_limited_by_bytes(points: &[Point]) -> bool {
    let load = |point: &Point| {
        let bandwidth = Peak::Bandwidth.of(std::iter::once(point));
        Some((point.block_bytes, point.outstanding()?, bandwidth))
    };
    let all: Vec<(u32, u32, f64)> = points.iter().filter_map(load).collect();
    let most = all.iter().map(|(_, _, bandwidth)| *bandwidth).fold(0.0, f64::max);
    let is_near = |load: &&(u32, u32, f64)| load.2 >= (1.0 - BANDWIDTHS) * most && most > 0.0;
    let near: Vec<&(u32, u32, f64)> = all.iter().filter(is_near).collect();
    let is_twice = |one: u32, other: u32| one / 2 >= other;
    let is_told = |one: &(u32, u32, f64)| {
        near.iter().any(|other| is_twice(one.0, other.0) || is_twice(one.1, other.1))
    };
    near.iter().any(|one| is_told(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_limit_what_larger_requests_do_not_exceed() {
        let told = |rows: &str| {
            let text = format!("op,bs,iodepth,iops\n{rows}");
            let points = crate::read::parse(std::path::Path::new("p"), "rig", &text).unwrap();
            Told::by(&points).bandwidth
        };
        assert!(!told("randread,4k,32,1000\n"));
        assert!(told("randread,4k,32,1000\nrandread,4k,64,1010\n"));
        assert!(!told("randread,4k,32,1000\nrandread,4k,64,1300\n"));
        assert!(!told("randread,4k,32,1000\nrandread,4k,64,1000\nrandread,32k,32,200\n"));
        assert!(told("randread,4k,64,1000\nrandread,32k,32,200\nrandread,32k,64,201\n"));
        assert!(told("randread,4k,1,10\nrandread,8k,32,1000\nrandread,16k,32,550\n"));
        assert!(!told("randread,8k,32,1000\nrandread,12k,32,660\n"));
    }
}
