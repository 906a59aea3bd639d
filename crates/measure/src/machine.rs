//! The machine of the measurements.

use std::fmt;
use std::fs;
use std::process::Command;

use crate::memory::field;
use crate::show_bytes;

/// Description of a machine for readers; unknown values are left open.
#[derive(Debug, Clone)]
pub struct Machine {
    processor: String,
    cores: usize,
    memory: Option<u64>,
    system: String,
    compiler: String,
}

impl Machine {
    pub fn this() -> Self {
        // Missing files leave the values unknown instead of failing: `/proc` exists on Linux only, and a description
        // that is incomplete must not cost the measurements that follow it.
        let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            processor: after_colon(&processors, "model name").unwrap_or("unknown processor").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: field(&memory, "MemTotal"),
            system: first_output("uname", &["-sr"]),
            compiler: first_output("rustc", &["--version"]),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {} cores", self.processor, self.cores)?;
        if let Some(memory) = self.memory {
            write!(formatter, ", {} memory", show_bytes(memory))?;
        }
        write!(formatter, ", {}, {}", self.system, self.compiler)
    }
}

fn after_colon<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim())
}

/// Returns the output of a program.
fn first_output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| format!("unknown {program}"))
}
