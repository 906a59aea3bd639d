//! Measures subjects side by side in one run, so that they meet the same machine at the same time.
//!
//! On a shared machine, an absolute time means little. The ratio of two medians whose samples were taken in turns shows the cost of
//! one subject over another.
//!
//! ```
//! use measure::{Comparison, Rounds};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let figures = Comparison::against("bytes", async || Ok(drop(b"foreword".repeat(10))))
//!     .with("text", async || Ok(drop("foreword".repeat(10))))
//!     .run(Rounds { warm_up: 2, measured: 10 })
//!     .await?;
//! assert!(figures.ratio("text") > 0.0);
//! println!("{figures}");
//! # anyhow::Ok(()) }).unwrap();
//! ```

mod arguments;
mod comparison;
mod machine;
mod memory;
mod samples;
mod show;
pub mod system_calls;
mod table;

pub use arguments::{BenchArguments, Effort};
pub use comparison::{Comparison, Figures, Rounds};
pub use machine::Machine;
pub use memory::ResidentMemory;
pub use samples::Samples;
pub use show::{show_bytes, show_count, show_ratio, show_time};
pub use system_calls::SystemCalls;
pub use table::Table;
/// The async runtime, for benchmarks of crates that must not depend on one.
pub use tokio;
