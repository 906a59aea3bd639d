//! Flags that set keys, generated from the table for clap.

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use std::path::PathBuf;

use super::key::Key;
use super::table::KEYS;
use super::value::{Kind, Value};

/// A setting given by a flag.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    /// Name as written, such as `--listen`.
    pub(crate) name: String,
    pub(crate) key: &'static Key,
    pub(crate) value: Value,
}

/// The flag of a key.
#[derive(Debug)]
pub(crate) struct FlagSpec {
    group: FlagGroup,
    long: &'static str,
    value_name: &'static str,
    /// Another flag that sets the empty list.
    empty: Option<&'static str>,
}

/// Commands that have a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagGroup {
    /// Commands that read instruction files on disk.
    Files,
    Serve,
}

impl FlagSpec {
    pub(super) const fn new(group: FlagGroup, long: &'static str, value_name: &'static str) -> Self {
        FlagSpec { group, long, value_name, empty: None }
    }

    pub(super) const fn or_empty(self, long: &'static str) -> Self {
        FlagSpec { empty: Some(long), ..self }
    }

    fn arguments(&self, key: &Key) -> Vec<Arg> {
        let arg = Arg::new(self.long).long(self.long).help(help(key)).value_name(self.value_name);
        // Other commands name agents with `--agent`.
        let arg = if self.long == "profile" { arg.alias("agent") } else { arg };
        let arg = match key.kind() {
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::List => arg.action(ArgAction::Append),
            Kind::NonNegative | Kind::Positive => arg.value_parser(value_parser!(u64)),
            Kind::Path => arg.value_parser(value_parser!(PathBuf)),
            _ => arg,
        };
        // A repeatable flag cannot express the empty list, so the list has a second flag for that.
        let empty = self.empty.map(|long| {
            let help = format!("Set an empty list instead of --{}", self.long);
            Arg::new(long).long(long).help(help).action(ArgAction::SetTrue).conflicts_with(self.long)
        });
        let heading = match self.group {
            FlagGroup::Files => Some("Files"),
            FlagGroup::Serve => None,
        };
        let args = std::iter::once(arg).chain(empty);
        args.map(|arg| if heading.is_some() { arg.help_heading(heading) } else { arg }).collect()
    }

    fn read(&self, key: &'static Key, matches: &ArgMatches) -> Option<Flag> {
        if let Some(empty) = self.empty.filter(|empty| matches.get_flag(empty)) {
            // The origin is the flag as it was typed, so that a message about the value matches the command line.
            return Some(Flag { name: format!("--{empty}"), key, value: Value::List(Vec::new()) });
        }
        let long = self.long;
        let value = match key.kind() {
            Kind::Switch => matches.get_flag(long).then_some(Value::Switch(true)),
            Kind::List => matches.get_many::<String>(long).map(|items| Value::List(items.cloned().collect())),
            Kind::NonNegative | Kind::Positive => matches.get_one(long).copied().map(Value::Integer),
            Kind::Path => matches.get_one(long).cloned().map(Value::Path),
            _ => matches.get_one(long).cloned().map(Value::Text),
        };
        value.map(|value| Flag { name: format!("--{long}"), key, value })
    }
}

/// Returns the documentation of a key with its default.
fn help(key: &Key) -> String {
    let default = match key.built_in() {
        // A switch is off unless its flag is given, so showing the default would not help.
        Some(Value::Switch(_)) => None,
        Some(value) => Some(key.kind().shown(&value).trim_matches('"').to_owned()),
        None => Some(key.otherwise.to_owned()),
    };
    let repeated = match key.kind() {
        Kind::List => " (repeatable)",
        _ => "",
    };
    let text = key.documentation.trim_end_matches('.');
    let default = default.map_or_else(String::new, |default| format!(" [default: {default}]"));
    format!("{text}{repeated}{default}").replace('`', "")
}

fn specs(group: FlagGroup) -> impl Iterator<Item = (&'static Key, &'static FlagSpec)> {
    KEYS.iter().filter_map(|key| Some((key, key.flag.as_ref()?))).filter(move |(_, flag)| flag.group == group)
}

macro_rules! flags {
    ($(#[$doc:meta] $name:ident: $group:ident;)*) => {$(
        #[$doc]
        #[derive(Debug, Clone)]
        pub(crate) struct $name(pub(crate) Vec<Flag>);

        impl clap::Args for $name {
            fn augment_args(command: clap::Command) -> clap::Command {
                command.args(specs(FlagGroup::$group).flat_map(|(key, flag)| flag.arguments(key)))
            }

            fn augment_args_for_update(command: clap::Command) -> clap::Command {
                Self::augment_args(command)
            }
        }

        impl clap::FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok($name(specs(FlagGroup::$group).filter_map(|(key, flag)| flag.read(key, matches)).collect()))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    )*};
}

flags! {
    /// Flags for finding files on disk. They override the configuration.
    FileFlags: Files;
    /// Flags of the gateway.
    ServeFlags: Serve;
}
