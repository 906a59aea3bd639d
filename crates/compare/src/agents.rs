//! Agents by name.

use instructions::{CODELIA, FOREWORD, PROFILES, Profile};
use protocol::similar;

/// An unknown agent name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent `{name}`{}; the agents are {}", meant(name), known().join(", "))]
pub struct UnknownAgent {
    pub name: String,
}

impl UnknownAgent {
    /// Returns the agent that was probably meant, or `None` if no name is similar.
    pub fn nearest(&self) -> Option<&'static str> {
        // People often type only the first part of a profile's name, such as `claude`.
        let is_begun = |known: &&str| self.name.len() > 2 && known.starts_with(&self.name);
        let begun = known().into_iter().find(is_begun);
        // `cluade` is as far from `claude-code` as from other names, but only one letter pair from its alias.
        begun.or_else(|| similar(&self.name, known())).or_else(|| {
            let alias = similar(&self.name, Profile::aliases())?;
            Profile::find(alias).map(|profile| profile.name)
        })
    }
}

fn meant(name: &str) -> String {
    let unknown = UnknownAgent { name: name.to_owned() };
    unknown.nearest().map_or_else(String::new, |nearest| format!(", did you mean `{nearest}`"))
}

fn known() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}

/// Returns the agents that were run and observed, without Foreword itself.
pub fn verified_agents() -> Vec<&'static Profile> {
    let is_verified = |profile: &&Profile| {
        **profile != FOREWORD && profile.agent.version.is_some() && !profile.is_other_version()
    };
    PROFILES.iter().copied().filter(is_verified).collect()
}

/// Returns the agents with the given names, each once. Without names, all agents but the one that only few people have,
/// in the version that most people run.
pub fn agents(names: Option<&[String]>) -> Result<Vec<&'static Profile>, UnknownAgent> {
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        return Ok(PROFILES
            .iter()
            .copied()
            .filter(|profile| **profile != CODELIA && !profile.is_other_version())
            .collect());
    };
    let mut agents: Vec<&'static Profile> = Vec::new();
    for name in names {
        // Agents given twice are compared once, at the first position, which is the order of the columns.
        let profile = Profile::find(name).ok_or_else(|| UnknownAgent { name: name.clone() })?;
        if !agents.contains(&profile) {
            agents.push(profile);
        }
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_or_guessed() {
        let find =
            |names: &[&str]| agents(Some(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()));
        assert_eq!(find(&["pi", "codex", "pi"]).unwrap().len(), 2);
        let newest = PROFILES.iter().filter(|profile| !profile.is_other_version()).count();
        assert_eq!(find(&[]).unwrap().len(), newest - 1, "codelia only on request");
        assert_eq!(agents(None).unwrap().len(), newest - 1);
        assert_eq!(
            find(&["codelia", "claude", "claude-code"]).unwrap().len(),
            2,
            "an alias is the same agent"
        );
        for (name, nearest) in [
            ("cluade", Some("claude-code")),
            ("copi", Some("copilot")),
            ("gemni-cli", Some("gemini-cli")),
            ("xyzzy", None),
        ] {
            assert_eq!(find(&[name]).unwrap_err().nearest(), nearest, "{name}");
        }
        let error = find(&["opncode"]).unwrap_err().to_string();
        assert!(
            error.starts_with("there is no agent `opncode`, did you mean `opencode`; the agents are"),
            "{error}"
        );
    }
}
