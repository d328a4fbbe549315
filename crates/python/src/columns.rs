//! Arrays that NumPy reads where they lie, through Python's buffer protocol.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;

/// Numbers of one type in memory. Python gets them as bytes.
#[derive(Clone, Debug)]
pub(crate) enum Numbers {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Numbers {
    /// The name of the type, as NumPy has it.
    fn dtype(&self) -> &'static str {
        match self {
            Self::U8(_) => "u1",
            Self::U16(_) => "u2",
            Self::U32(_) => "u4",
            Self::U64(_) => "u8",
            Self::F64(_) => "f8",
        }
    }

    fn bytes(&self) -> Memory {
        match self {
            Self::U8(all) => Memory::of(all),
            Self::U16(all) => Memory::of(all),
            Self::U32(all) => Memory::of(all),
            Self::U64(all) => Memory::of(all),
            Self::F64(all) => Memory::of(all),
        }
    }
}

/// A column of a table: `numpy.frombuffer(column, column.dtype)` is its array, without a copy.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct Column {
    /// The name of the column.
    #[pyo3(get)]
    name: &'static str,
    numbers: Numbers,
}

impl Column {
    pub(crate) fn new(name: &'static str, numbers: Numbers) -> Self {
        Self { name, numbers }
    }
}

#[pymethods]
impl Column {
    /// The type of the numbers, as NumPy has it.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.numbers.dtype()
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let memory = slf.get().numbers.bytes();
        // SAFETY: Python hands over a view to be filled. The numbers belong to `slf`, which is
        // frozen, so that they neither move nor change.
        unsafe { memory.show(slf.into_any(), view, flags) }
    }
}

/// The bytes of a slice.
pub(crate) struct Memory {
    start: *const u8,
    bytes: usize,
}

impl Memory {
    pub(crate) fn of<T>(all: &[T]) -> Self {
        Self { start: all.as_ptr().cast(), bytes: size_of_val(all) }
    }

    /// Fills a view that Python has asked for; nobody can write through it.
    ///
    /// # Safety
    /// `view` is Python's, to be filled. The bytes belong to `owner`, and neither move nor change
    /// while it lives.
    pub(crate) unsafe fn show(
        self,
        owner: Bound<'_, PyAny>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = isize::try_from(self.bytes).map_err(|_| PyBufferError::new_err("too long"))?;
        let start = self.start.cast_mut().cast();
        // SAFETY: the caller vouches for `view` and for the bytes; the view holds a reference to
        // the owner, and is read only (1).
        let code = unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, bytes, 1, flags) };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
    }
}
