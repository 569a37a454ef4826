//! The core's arithmetic and random numbers, for the Python reference.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use sylvan_core::numbers::{self, PriorBits};
use sylvan_core::rng;

pyo3::import_exception!(sylvan.errors, ConfigError);

/// The most numbers of one call, to limit memory.
const MOST: u64 = 1 << 24;

/// An integer from Python, in `least..=most`.
fn whole(name: &str, given: &Bound<'_, PyAny>, least: u64, most: u64) -> PyResult<u64> {
    match given.extract() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(ConfigError::new_err(format!(
            "{name} is {}: give a whole number from {least} to {most}",
            given.repr()?
        ))),
    }
}

/// The softmax of finite or `-inf` logits, in single precision.
#[pyfunction]
fn softmax<'py>(
    py: Python<'py>,
    logits: PyReadonlyArray1<'py, f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let mut probabilities = logits.as_array().to_vec();
    numbers::softmax(&mut probabilities);
    Ok(PyArray1::from_vec(py, probabilities))
}

/// The natural logarithm.
#[pyfunction]
fn ln(x: f64) -> f64 {
    numbers::ln(x)
}

/// The exponential function.
#[pyfunction]
fn exp(x: f64) -> f64 {
    numbers::exp_double(x)
}

/// The exponential function in single precision, for `x <= 0`.
#[pyfunction]
fn exp_single(x: f64) -> f32 {
    numbers::exp(x as f32)
}

/// Rounds priors to the stored format with `bits` (8, 16 or 32) per prior.
#[pyfunction]
fn quantise_priors<'py>(
    py: Python<'py>,
    priors: PyReadonlyArray1<'py, f32>,
    bits: u32,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let bits = PriorBits::new(bits)
        .ok_or_else(|| ConfigError::new_err(format!("bits is {bits}: use 8, 16 or 32")))?;
    let array = PyArray1::from_iter(py, priors.as_array().iter().map(|&p| bits.quantise(p)));
    debug_assert_eq!(array.readonly().as_array().len(), priors.as_array().len());
    Ok(array)
}

/// Hashes two numbers to 64 bits.
#[pyfunction]
fn mix(a: u64, b: u64) -> u64 {
    rng::mix(a, b)
}

/// One stream of the seeded random number generator of searches.
#[pyclass(module = "sylvan._native")]
pub struct Rng(pub rng::Rng);

#[pymethods]
impl Rng {
    #[new]
    #[pyo3(signature = (seed, stream=0))]
    fn new(seed: &Bound<'_, PyAny>, stream: u64) -> PyResult<Self> {
        let seed = whole("seed", seed, 0, u64::MAX)?;
        Ok(Self(rng::Rng::new(seed, stream)))
    }

    /// A new generator, seeded by one draw.
    fn split(&mut self) -> Self {
        Self(self.0.split())
    }

    /// The items in random order.
    fn shuffled(&mut self, items: Vec<Py<PyAny>>) -> Vec<Py<PyAny>> {
        let mut items = items;
        for i in (1..items.len()).rev() {
            items.swap(i, self.0.below(i + 1));
        }
        items
    }

    /// A double in `[0, 1)`.
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// An integer below `n`.
    fn below(&mut self, n: &Bound<'_, PyAny>) -> PyResult<usize> {
        let n = whole("n", n, 1, u64::MAX)?;
        Ok(self.0.below(n as usize))
    }

    /// Draws an index with probability `weights[index]`; the weights sum to 1.
    fn pick(&mut self, weights: Vec<f64>) -> PyResult<usize> {
        if weights.is_empty() {
            return Err(ConfigError::new_err(
                "weights is empty: give one or more that sum to 1",
            ));
        }
        if let Some(weight) = weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
            return Err(ConfigError::new_err(format!(
                "a weight is {weight}: give finite numbers of at least 0 that sum to 1"
            )));
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(ConfigError::new_err(
                "all weights are 0: give weights that sum to 1",
            ));
        }
        Ok(self.0.pick(weights))
    }

    /// One sample of a symmetric Dirichlet distribution: `n` numbers that sum to 1.
    fn dirichlet(&mut self, alpha: f64, n: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let n = whole("n", n, 0, MOST)?;
        if !(alpha > 0.0 && alpha.is_finite()) {
            return Err(ConfigError::new_err(format!(
                "alpha is {alpha}: give a positive number"
            )));
        }
        Ok(self.0.dirichlet(alpha, n as usize))
    }

    /// `n` samples of the standard Gumbel distribution.
    fn gumbel(&mut self, n: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        Ok(self.0.gumbel(whole("n", n, 0, MOST)? as usize))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Rng>()?;
    module.add_function(wrap_pyfunction!(softmax, module)?)?;
    module.add_function(wrap_pyfunction!(ln, module)?)?;
    module.add_function(wrap_pyfunction!(exp, module)?)?;
    module.add_function(wrap_pyfunction!(exp_single, module)?)?;
    module.add_function(wrap_pyfunction!(quantise_priors, module)?)?;
    module.add_function(wrap_pyfunction!(mix, module)?)
}
