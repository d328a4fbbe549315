//! Traces in memory.

use crate::columns::Memory;
use crate::failure::{failed, wrong, wrong_data, wrong_text};
use crate::parse::parsed;
use crate::watch::watched;
use pyo3::buffer::PyBuffer;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use ssdtune_experiment::{Origin, Position, RequestSource};
use ssdtune_model::{Bytes, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::{
    ColumnSpec, Devices, Format, Op, REQUEST_BYTES, ReadOptions, Request, TenantId, TimeUnit,
    TraceError, note_held,
};

use ssdtune_trace::writer::{OutputFormat, TraceWriter};
use ssdtune_tune::memory::{Digest, digest_requests};
use std::ffi::c_int;
use std::mem::offset_of;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Requests of a host in memory, in order of time; 24 bytes each.
///
/// A trace comes from a file (``Trace.read``), from arrays (``Trace.from_arrays``) or from a
/// workload model (``Workload.generate``), and never changes. ``time``, ``lba``, ``sectors``,
/// ``op`` and ``tenant`` are arrays that lie where the trace lies; ``offset`` and ``size`` are
/// computed, in bytes.
///
/// >>> import ssdtune as st
/// >>> trace = st.workload("database").generate(3)
/// >>> len(trace), trace.records.dtype.names
/// (3, ('time', 'lba', 'sectors', 'tenant', 'op'))
#[pyclass(module = "ssdtune", frozen, weakref)]
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) name: String,
    pub(crate) requests: Arc<Vec<Request>>,
    pub(crate) warnings: Vec<String>,
    digest: OnceLock<Digest>,
}

impl Trace {
    pub(crate) fn of(name: String, requests: Vec<Request>) -> Self {
        let (requests, warnings) = (Arc::new(requests), Vec::new());
        Self { name, requests, warnings, digest: OnceLock::new() }
    }

    /// The requests as the source of a run.
    pub(crate) fn source(&self) -> RequestSource {
        let source = RequestSource::of_requests(self.name.clone(), Arc::clone(&self.requests));
        RequestSource { warnings: self.warnings.clone(), ..source }
    }

    /// The digest, by which traces are told apart. It is made once, at memory speed.
    pub(crate) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| digest_requests(self.requests.iter()))
    }

    /// Takes all requests of a source into memory, or as many as came before `stop` was set.
    fn load(source: &RequestSource, stop: &AtomicBool) -> Result<Self, TraceError> {
        let position = Position::default();
        let mut requests = Vec::new();
        let mut reader = source.stream(&position)?;
        while !stop.load(Ordering::Relaxed) {
            match reader.fill(&mut requests)? {
                0 => break,
                count => note_held(count),
            }
        }
        drop(reader);
        requests.shrink_to_fit();
        Ok(Self { warnings: position.warnings(), ..Self::of(source.name(), requests) })
    }
}

/// How a trace is read: the flags of `ssdtune trace info` and their values.
struct Reading {
    format: Option<String>,
    lenient: bool,
    strict: bool,
    time_unit: Option<String>,
    devices: Option<Vec<String>>,
    merge_devices: bool,
    event: String,
    columns: Option<String>,
    delimiter: String,
    reorder_window: usize,
    max_gap: Option<String>,
    address_limit: Option<String>,
    max_expansion: u64,
}

impl Reading {
    fn options(&self) -> PyResult<ReadOptions> {
        let defaults = ReadOptions::default();
        let columns = self.columns.as_deref().map(|spec| {
            let spec = ColumnSpec::parse_delimited(spec, &self.delimiter).ok_or_else(|| {
                wrong_text(format!("delimiter {:?}: not one ASCII character", self.delimiter))
            })?;
            spec.map_err(wrong)
        });
        let size = |text: &String| text.parse::<Bytes>().map_err(said("address_limit", text));
        let limit = self.address_limit.as_ref().map(size).transpose()?;
        let gap = |text: &String| text.parse::<Nanos>().map_err(said("max_gap", text));
        Ok(ReadOptions {
            format: self.format.as_deref().map(Format::parse).transpose().map_err(wrong)?,
            lenient: self.lenient,
            strict: self.strict,
            time_unit: self.time_unit.as_deref().map(TimeUnit::parse).transpose().map_err(wrong)?,
            devices: match (&self.devices, self.merge_devices) {
                (Some(devices), _) => Devices::Only(devices.clone()),
                (None, true) => Devices::Merged,
                (None, false) => Devices::Tenants,
            },
            event: parsed("event", &self.event)?,
            columns: columns.transpose()?,
            reorder_window: self.reorder_window,
            max_gap: self.max_gap.as_ref().map(gap).transpose()?.unwrap_or(defaults.max_gap),
            capacity: limit.map(|bytes| Sectors(bytes.0 / SECTOR_BYTES)),
            max_expansion: self.max_expansion,
            ..defaults
        })
    }
}

fn said<E: std::fmt::Display>(name: &str, text: &str) -> impl Fn(E) -> PyErr {
    move |error| wrong_text(format!("{name} = {text}: {error}"))
}

#[pymethods]
impl Trace {
    /// Reads a trace file into memory. The format and the compression are found by the content.
    ///
    /// The options are the flags of ``ssdtune trace info``, with their defaults, but for two: all
    /// devices are taken for one unless ``merge_devices=False`` makes each a tenant, and
    /// ``requests`` takes the first ones alone.
    ///
    /// >>> import os, tempfile, ssdtune as st
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     path = os.path.join(folder, "two.csv")
    /// ...     text = "time_ns,tenant,op,lba,sectors\n0,0,W,0,8\n1000,0,R,8,8\n"
    /// ...     _ = open(path, "w").write(text)
    /// ...     trace = st.Trace.read(path)
    /// >>> trace.time.tolist(), trace.offset.tolist(), trace.op.tolist()
    /// ([0, 1000], [0, 4096], [1, 0])
    #[classmethod]
    #[pyo3(signature = (
        path, *, format = None, lenient = false, strict = false, time_unit = None, devices = None,
        merge_devices = true, event = "auto".to_owned(), columns = None,
        delimiter = ",".to_owned(), reorder_window = 65_536, max_gap = None, address_limit = None,
        max_expansion = 1_000, requests = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is an argument by name in Python")]
    fn read(
        _: &Bound<'_, PyType>,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        lenient: bool,
        strict: bool,
        time_unit: Option<String>,
        devices: Option<Vec<String>>,
        merge_devices: bool,
        event: String,
        columns: Option<String>,
        delimiter: String,
        reorder_window: usize,
        max_gap: Option<String>,
        address_limit: Option<String>,
        max_expansion: u64,
        requests: Option<u64>,
    ) -> PyResult<Self> {
        let reading = Reading {
            format,
            lenient,
            strict,
            time_unit,
            devices,
            merge_devices,
            event,
            columns,
            delimiter,
            reorder_window,
            max_gap,
            address_limit,
            max_expansion,
        };
        let source = RequestSource::new(Origin::File(path), reading.options()?);
        let source = RequestSource { limit: requests, ..source };
        watched(py, 1, |_| Ok(()), |stop| Self::load(&source, stop))?.map_err(wrong_data)
    }

    /// A trace of four columns of equal length, in order of time: ``time`` in nanoseconds (or
    /// NumPy's times), ``offset`` and ``size`` in bytes, ``op`` as numbers (0 read, 1 write, 2
    /// trim, 3 flush) or as texts (``R``, ``W``, ``read``, ``write``, ...).
    ///
    /// Anything that NumPy can make an array of will do. Columns are copied once, into 24 bytes a
    /// request. An access is widened to whole sectors of 512 bytes.
    ///
    /// >>> import ssdtune as st
    /// >>> st.Trace.from_arrays([0, 1000], [0, 4096], [4096, 512], ["W", "R"]).sectors.tolist()
    /// [8, 1]
    #[classmethod]
    #[pyo3(signature = (time, offset, size, op, *, name = "arrays".to_owned()))]
    fn from_arrays(
        class: &Bound<'_, PyType>,
        time: Bound<'_, PyAny>,
        offset: Bound<'_, PyAny>,
        size: Bound<'_, PyAny>,
        op: Bound<'_, PyAny>,
        name: String,
    ) -> PyResult<Self> {
        let py = class.py();
        let columns =
            py.import("ssdtune._arrays")?.call_method1("columns", (time, offset, size, op))?;
        let (times, offsets, sizes, ops): Columns = columns.extract()?;
        let (times, offsets) = (times.to_vec(py)?, offsets.to_vec(py)?);
        let (sizes, ops) = (sizes.to_vec(py)?, ops.to_vec(py)?);
        let length = times.len();
        if [offsets.len(), sizes.len(), ops.len()] != [length; 3] {
            return Err(wrong_text(format!(
                "columns of different lengths: {length} times, {} offsets, {} sizes, {} operations",
                offsets.len(),
                sizes.len(),
                ops.len()
            )));
        }
        let mut requests = Vec::with_capacity(length);
        let (mut faults, mut latest) = (Faults::default(), 0);
        for (index, &time) in times.iter().enumerate() {
            let row = Row { time, offset: offsets[index], size: sizes[index], op: ops[index] };
            match row.request(latest) {
                Ok(request) => requests.push(request),
                Err(kind) => faults.add(index, kind),
            }
            latest = latest.max(time);
        }
        faults.raise()?;
        Ok(Self::of(name, requests))
    }

    /// The name in results: the path of a file, or the name of a model.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What is to be said of the file: lines that were skipped, times that jump back.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// 64 hexadecimal digits that tell traces apart, by their requests alone.
    #[getter(digest)]
    fn digest_text(&self, py: Python<'_>) -> String {
        py.detach(|| self.digest()).to_string()
    }

    /// All requests as one structured array that lies where the trace lies, without a copy:
    /// ``time`` in nanoseconds, ``lba`` and ``sectors`` in sectors of 512 bytes, ``tenant`` from
    /// 0, ``op`` by number (0 read, 1 write, 2 trim, 3 flush).
    #[getter]
    fn records<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let layout = PyDict::new(py);
        layout.set_item("names", ["time", "lba", "sectors", "tenant", "op"])?;
        layout.set_item("formats", ["u8", "u8", "u4", "u2", "u1"])?;
        let offsets = [
            offset_of!(Request, at),
            offset_of!(Request, lba),
            offset_of!(Request, sectors),
            offset_of!(Request, tenant),
            offset_of!(Request, op),
        ];
        layout.set_item("offsets", offsets)?;
        layout.set_item("itemsize", size_of::<Request>())?;
        let numpy = py.import("numpy")?;
        numpy.call_method1("frombuffer", (slf, numpy.call_method1("dtype", (layout,))?))
    }

    /// When each request arrives, in nanoseconds from the start.
    #[getter]
    fn time<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::records(slf)?.get_item("time")
    }

    /// The first sector of each request, of 512 bytes.
    #[getter]
    fn lba<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::records(slf)?.get_item("lba")
    }

    /// The sectors of each request.
    #[getter]
    fn sectors<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::records(slf)?.get_item("sectors")
    }

    /// The tenant of each request, from 0.
    #[getter]
    fn tenant<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::records(slf)?.get_item("tenant")
    }

    /// The operation of each request: 0 read, 1 write, 2 trim, 3 flush.
    #[getter]
    fn op<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::records(slf)?.get_item("op")
    }

    /// The first byte of each request; computed anew each time.
    #[getter]
    fn offset<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::lba(slf)?.mul(SECTOR_BYTES)
    }

    /// The bytes of each request; computed anew each time.
    #[getter]
    fn size<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::sectors(slf)?.call_method1("astype", ("u8",))?.mul(SECTOR_BYTES)
    }

    /// Writes the trace into a file, whose name says the format, as for ``ssdtune trace generate``:
    /// ``.ssdt`` is read soonest. A file that exists is replaced with ``force=True`` alone. What
    /// reads it counts times from the first request.
    ///
    /// >>> import os, tempfile, ssdtune as st
    /// >>> trace = st.Trace.from_arrays([0, 1000], [0, 4096], [4096, 512], ["W", "R"])
    /// >>> with tempfile.TemporaryDirectory() as folder:
    /// ...     path = os.path.join(folder, "two.ssdt")
    /// ...     trace.write(path)
    /// ...     st.Trace.read(path) == trace
    /// True
    #[pyo3(signature = (path, *, force = false))]
    fn write(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        if !force && path.exists() {
            let text = format!("{} exists: force=True replaces it", path.display());
            return Err(wrong_text(text));
        }
        let format = OutputFormat::of_name(&path).map_err(wrong)?;
        let write = || {
            let mut writer = TraceWriter::create(&path, format)?;
            writer.write_all(self.requests.iter().copied())?;
            writer.finish(0, &[])
        };
        watched(py, 1, |_| Ok(()), |_| write())?.map(drop).map_err(failed)
    }

    fn __len__(&self) -> usize {
        self.requests.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.requests, &other.requests) || self.digest() == other.digest()
    }

    fn __hash__(&self) -> u64 {
        let bytes = *self.digest().as_bytes();
        u64::from_le_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ])
    }

    fn __repr__(&self) -> String {
        format!("<ssdtune.Trace {}, {} requests>", self.name, self.requests.len())
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let memory = Memory::of(&slf.get().requests);
        // SAFETY: Python hands over a view to be filled. The requests belong to `slf`, which is
        // frozen, and are shared with readers only.
        unsafe { memory.show(slf.into_any(), view, flags) }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, State<'py>)> {
        let own = slf.get();
        let packed: Vec<u8> = own.requests.iter().flat_map(Request::key_bytes).collect();
        let state = (own.name.clone(), own.warnings.clone(), PyBytes::new(slf.py(), &packed));
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    #[classmethod]
    fn _restore(
        _: &Bound<'_, PyType>,
        name: String,
        warnings: Vec<String>,
        packed: &[u8],
    ) -> PyResult<Self> {
        let (rows, rest) = packed.as_chunks::<REQUEST_BYTES>();
        let requests = rows.iter().map(unpacked).collect::<Option<Vec<_>>>();
        match requests.filter(|_| rest.is_empty()) {
            Some(requests) => Ok(Self { warnings, ..Self::of(name, requests) }),
            None => Err(wrong_data(anyhow::anyhow!("{name}: these are no requests"))),
        }
    }
}

/// The columns of a trace: times, offsets, sizes and operations.
type Columns = (PyBuffer<u64>, PyBuffer<u64>, PyBuffer<u64>, PyBuffer<u8>);

/// What a pickled trace consists of.
type State<'py> = (String, Vec<String>, Bound<'py, PyBytes>);

/// The request that [`Request::key_bytes`] has put into bytes.
fn unpacked(row: &[u8; REQUEST_BYTES]) -> Option<Request> {
    let number = |from: usize, to: usize| {
        row[from..to].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    };
    Some(Request {
        at: Nanos(number(0, 8)),
        lba: Sectors(number(8, 16)),
        sectors: number(16, 20) as u32,
        tenant: TenantId(number(20, 22) as u16),
        op: op(row[22])?,
    })
}

fn op(number: u8) -> Option<Op> {
    [Op::Read, Op::Write, Op::Trim, Op::Flush].into_iter().find(|op| *op as u8 == number)
}

/// A row of the columns.
struct Row {
    time: u64,
    offset: u64,
    size: u64,
    op: u8,
}

/// What may be wrong with a row.
#[derive(Clone, Copy)]
enum Fault {
    Earlier,
    Op,
    Empty,
    Long,
}

impl Row {
    /// The sectors that the bytes touch, as a request. `latest` is the latest time before it.
    fn request(&self, latest: u64) -> Result<Request, Fault> {
        if self.time < latest {
            return Err(Fault::Earlier);
        }
        let op = op(self.op).ok_or(Fault::Op)?;
        let lba = self.offset / SECTOR_BYTES;
        let end = self.offset.checked_add(self.size).ok_or(Fault::Long)?.div_ceil(SECTOR_BYTES);
        let sectors = u32::try_from(end - lba).map_err(|_| Fault::Long)?;
        let (lba, sectors) = match op {
            Op::Flush => (0, 0),
            Op::Read | Op::Write | Op::Trim if self.size == 0 => return Err(Fault::Empty),
            Op::Read | Op::Write | Op::Trim => (lba, sectors),
        };
        let (at, tenant) = (Nanos(self.time), TenantId(0));
        Ok(Request { at, lba: Sectors(lba), sectors, tenant, op })
    }
}

/// How many rows have each fault, and which is the first.
#[derive(Default)]
struct Faults([Option<(usize, usize)>; 4]);

impl Faults {
    fn add(&mut self, index: usize, kind: Fault) {
        self.0[kind as usize].get_or_insert((0, index)).0 += 1;
    }

    /// Tells every kind of fault.
    fn raise(self) -> PyResult<()> {
        let words = [
            "earlier than one before it: sort the rows by time",
            "with an unknown operation: write 0 for read, 1 write, 2 trim, 3 flush",
            "of size 0, which only a flush has",
            "of 2 TiB and more",
        ];
        let told = self.0.into_iter().zip(words).filter_map(|(fault, words)| {
            let (count, first) = fault?;
            Some(format!("{count} rows {words}; the first is row {first}, counted from 0"))
        });
        let told: Vec<String> = told.collect();
        if told.is_empty() { Ok(()) } else { Err(wrong_data(anyhow::Error::msg(told.join("\n")))) }
    }
}
