//! `foreword profile`: whose rules are known, and how each of them is.

use instructions::profile::{Agent, Evidence, Rule};
use instructions::{BlockRole, Profile};
use serde::Serialize;

use crate::arguments::ProfileCommand;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files;
use crate::output::table;

/// A profile in a list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    agent: &'static str,
    version: Option<&'static str>,
    role: BlockRole,
    names: Vec<&'static str>,
    evidence: Counts,
}

/// How many rules are known in which way.
#[derive(Serialize)]
struct Counts {
    observed: usize,
    source: usize,
    documented: usize,
    defined: usize,
}

/// One profile with its rules.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    listed: Listed,
    rules: &'static [Rule],
}

pub(crate) fn run(context: &Context, command: &ProfileCommand) -> Result<Exit, Failure> {
    match command {
        ProfileCommand::List => {
            let profiles: Vec<Listed> =
                instructions::PROFILES.iter().map(|profile| listed(profile)).collect();
            context.output.data(&serde_json::json!({ "profiles": profiles }), || {
                let rows = profiles.iter().map(|profile| {
                    let (agent, known) = (profile.agent.to_owned(), known(profile));
                    vec![profile.name.to_owned(), agent, profile.names.join(", "), known]
                });
                table(&["profile", "agent", "reads", "known"], rows)
            })?;
        }
        ProfileCommand::Show { name } => {
            let profile = files::named_profile(name, "the command line")?;
            let shown = Shown { listed: listed(profile), rules: profile.agent.rules };
            context.output.data(&shown, || {
                let rows = shown.rules.iter().map(|rule| {
                    vec![rule.about.to_owned(), word(rule.evidence).to_owned(), rule.says.to_owned()]
                });
                let heading =
                    format!("{}: {}, {}\n\n", profile.name, profile.agent.title, known(&shown.listed));
                heading + &table(&["about", "known", "rule"], rows)
            })?;
        }
    }
    Ok(Exit::Done)
}

fn listed(profile: &Profile) -> Listed {
    let Agent { title, version, rules, .. } = profile.agent;
    let count = |evidence| rules.iter().filter(|rule| rule.evidence == evidence).count();
    Listed {
        name: profile.name,
        agent: title,
        version,
        role: profile.render.role,
        names: profile.known_names().collect(),
        evidence: Counts {
            observed: count(Evidence::Observed),
            source: count(Evidence::Source),
            documented: count(Evidence::Documented),
            defined: count(Evidence::Defined),
        },
    }
}

/// How well a profile is known, in words.
fn known(profile: &Listed) -> String {
    match (profile.version, profile.evidence.documented) {
        (Some(version), _) => format!("checked against {version}"),
        (None, 0) => "defined here".to_owned(),
        (None, _) => "from its documentation only".to_owned(),
    }
}

fn word(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Observed => "observed",
        Evidence::Source => "source",
        Evidence::Documented => "documented",
        Evidence::Defined => "defined",
    }
}
