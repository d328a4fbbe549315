//! Flushes: a flush waits until everything that the host was told is written has reached flash, or
//! for nothing if that is safe in the write buffer.

use super::DataCache;
use crate::backend::Backend;
use crate::base::Base;
use crate::host::Host;
use crate::id::{RequestId, Table};
use serde::{Deserialize, Serialize};
use ssdtune_model::TenantId;

/// The flushes that are not complete.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Flushes {
    /// For each tenant, its last one.
    last: Table<TenantId, Option<RequestId>>,
}

impl Flushes {
    pub fn new(tenants: usize) -> Self {
        Self { last: (0..tenants).map(|_| None).collect() }
    }
}

impl DataCache {
    /// Serves a flush.
    pub fn serve_flush(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
    ) {
        let tenant = host.requests[request].tenant;
        if self.rules.is_buffer && self.holds_writes(tenant) {
            host.done(base, request);
            return;
        }
        self.write_all(base, backend, tenant);
        let mut waits = backend.flash.flush(tenant, request);
        backend.program_open_stripes(base);
        // Writes that earlier flushes wait for stay theirs; this flush waits for the last of those
        // flushes.
        if let Some(before) = self.flushes.last[tenant].replace(request) {
            host.requests[before].next_flush = Some(request);
            waits += 1;
        }
        host.requests[request].waits_flash = waits;
        if waits == 0 {
            self.flush_done(base, host, request);
        }
    }

    /// One of the writes, or the flush, that a flush waits for is done.
    pub fn flush_part_done(&mut self, base: &mut Base, host: &mut Host, request: RequestId) {
        let record = &mut host.requests[request];
        record.waits_flash -= 1;
        if record.waits_flash == 0 {
            self.flush_done(base, host, request);
        }
    }

    /// Completes a flush, and tells the one that waits for it.
    fn flush_done(&mut self, base: &mut Base, host: &mut Host, request: RequestId) {
        let record = &host.requests[request];
        let (tenant, next) = (record.tenant, record.next_flush);
        let last = &mut self.flushes.last[tenant];
        if *last == Some(request) {
            *last = None;
        }
        host.done(base, request);
        if let Some(next) = next {
            self.flush_part_done(base, host, next);
        }
    }
}
