//! Requests made to lie within a drive, or refused.

use crate::error::SourceError;
use ssdtune_model::Sectors;
use ssdtune_trace::{Request, Source};
use std::str::FromStr;

/// What to do with addresses beyond the end of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFit {
    /// Fold them back: the remainder by the size of the drive.
    Wrap,
    /// Close the gaps between the flash pages that the trace touches, which reads it twice.
    Compact,
    /// Leave them: the drive folds them by itself, as MQSim does.
    InDrive,
}

impl FromStr for AddressFit {
    type Err = &'static str;

    /// What a user may ask for.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "wrap" => Ok(Self::Wrap),
            "compact" => Ok(Self::Compact),
            _ => Err("write wrap or compact"),
        }
    }
}

/// An opened source whose requests lie within the drive.
pub struct Fitted {
    /// `None` after the end or an error.
    source: Option<Box<dyn Source>>,
    batch: Vec<Request>,
    next: usize,
    number: u64,
    spaces: Vec<Sectors>,
    fit: Option<AddressFit>,
    name: String,
}

impl Fitted {
    pub(crate) fn new(
        source: Box<dyn Source>,
        spaces: &[Sectors],
        fit: Option<AddressFit>,
        name: String,
    ) -> Self {
        let (batch, spaces) = (Vec::new(), spaces.to_vec());
        Self { source: Some(source), batch, next: 0, number: 0, spaces, fit, name }
    }

    /// What the request's tenant can address; the last space stands for all further tenants.
    fn space(&self, request: &Request) -> Sectors {
        let tenant = usize::from(request.tenant.0).min(self.spaces.len() - 1);
        self.spaces[tenant]
    }

    /// Reads the next batch; `false` at the end.
    fn refill(&mut self) -> Result<bool, SourceError> {
        self.batch.clear();
        self.next = 0;
        let Some(source) = &mut self.source else { return Ok(false) };
        Ok(source.fill(&mut self.batch)? > 0)
    }

    fn fail(&mut self, error: SourceError) -> SourceError {
        self.source = None;
        self.batch.clear();
        self.next = 0;
        error
    }
}

impl Iterator for Fitted {
    type Item = Result<Request, SourceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.batch.len() {
            match self.refill() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(self.fail(error))),
            }
        }
        let mut request = self.batch[self.next];
        self.next += 1;
        self.number += 1;
        let space = self.space(&request);
        if request.end() > space {
            match self.fit {
                // A request that crosses the end goes on at the beginning; the drive sees to that.
                Some(AddressFit::Wrap) => request.lba.0 %= space.0,
                Some(AddressFit::InDrive) => {}
                Some(AddressFit::Compact) | None => {
                    let (name, number, end) = (self.name.clone(), self.number, request.end());
                    let error = SourceError::BeyondEnd { name, number, end, space };
                    return Some(Err(self.fail(error)));
                }
            }
        }
        Some(Ok(request))
    }
}
