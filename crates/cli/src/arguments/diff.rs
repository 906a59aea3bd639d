//! The command line of `foreword diff`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::output::Format;

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Commits to compare: BASE, BASE..HEAD, or BASE...HEAD for the changes since their common ancestor. Without HEAD, the
    /// work tree is compared [default: HEAD]
    #[arg(value_name = "BASE[..HEAD]")]
    pub(crate) revisions: Option<String>,
    /// Compare by the rules of this agent's profile (repeatable) [default: the agents of `foreword check`]
    #[arg(long = "agent", value_name = "NAME", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Exit with 1 if an agent loses text that it read before or that is new
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    // Named like the global flag on purpose: clap then omits the global one here.
    /// Format: text, one JSON object, a comment for a pull request, or GitHub workflow annotations
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    pub(crate) format: Format,
}

/// Change that fails the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Text that an agent newly loses
    Lost,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "json", "markdown", "github"]).map(|name| match name.as_str() {
        "json" => Format::Json,
        "markdown" => Format::Markdown,
        "github" => Format::Github,
        _ => Format::Text,
    })
}
