//! The command line of `foreword check`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The tree; the present directory when absent
    pub(crate) path: Option<PathBuf>,
    /// Judge by the rules of this agent, by the name of its profile; more than once for more of them [default: those whose
    /// rules were observed, and our own]
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Mend what can be mended without anybody's judgement, then check again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Exit with 1 on warnings, too
    #[arg(long)]
    pub(crate) strict: bool,
    // Has the name of the global flag, which clap then leaves out here.
    /// How to print findings: for people, as one object, as SARIF 2.1.0, or as annotations of GitHub's workflows
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
