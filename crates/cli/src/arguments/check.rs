//! The command line of `foreword check`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Tree to check [default: the current directory]
    pub(crate) path: Option<PathBuf>,
    /// Check by the rules of this agent (repeatable) [default: agents with traces here, or else all verified ones]
    #[arg(long = "agent", alias = "profile", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Apply only these rules, by code or name (repeatable)
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not apply these rules; wins over --select (repeatable)
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Do not report the findings in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all findings to this file, for --baseline, and exit with 0
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
    /// Apply safe fixes, then check again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Exit with 1 on warnings too
    #[arg(long)]
    pub(crate) strict: bool,
    // Named like the global flag on purpose: clap then omits the global one here.
    /// Format of findings: text, one JSON object, SARIF 2.1.0, or GitHub workflow annotations
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    pub(crate) format: Format,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "json", "sarif", "github"]).map(|name| match name.as_str() {
        "json" => Format::Json,
        "sarif" => Format::Sarif,
        "github" => Format::Github,
        _ => Format::Text,
    })
}
