//! Enabled rules, severities and ignored paths, as set in `[check]`.

use std::path::{Path, PathBuf};

use compare::UnknownAgent;
use instructions::{AppliesTo, PROFILES, Profile, Target};
use protocol::similar;

use crate::rule::{CheckRule, RULES, RuleId, Severity};

/// Settings of a check. Rules are named by code or name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckSettings {
    /// Agents to check. If empty, all agents with observed rules.
    pub agents: Vec<String>,
    /// Disabled rules.
    pub off: Vec<String>,
    /// Rules whose findings are errors.
    pub error: Vec<String>,
    /// Rules whose findings are warnings.
    pub warning: Vec<String>,
    /// Rules whose findings are informational.
    pub info: Vec<String>,
    /// Globs of ignored paths, relative to the root.
    pub ignore: Vec<String>,
}

/// Rules chosen for one check, by code or name. They take precedence over the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleChoice {
    /// The only rules to apply. If empty, all that are enabled.
    pub select: Vec<String>,
    /// Rules not to apply; wins over `select`.
    pub ignore: Vec<String>,
}

/// Reason why settings are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The rule does not exist.
    #[error("there is no rule `{named}` (in {setting})")]
    Rule {
        /// The given name.
        named: String,
        /// Setting that contains it.
        setting: &'static str,
        /// Rule that was probably meant.
        meant: Option<&'static str>,
    },
    /// A rule has two severities.
    #[error("the rule {code} is in {first} and in {second}")]
    Twice {
        /// Code of the rule.
        code: &'static str,
        /// First setting that contains it.
        first: &'static str,
        /// Second setting that contains it.
        second: &'static str,
    },
    /// The agent does not exist.
    #[error("there is no agent `{}`", .0.name)]
    Agent(#[from] UnknownAgent),
    /// A glob is invalid.
    #[error("check.ignore: {0}")]
    Ignore(String),
}

impl PolicyError {
    /// Returns advice for fixing the settings.
    pub fn hint(&self) -> String {
        match self {
            Self::Rule { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Self::Rule { .. } => {
                let first = RULES.first();
                let last = RULES.last();
                let code = |rule: Option<&CheckRule>| rule.map_or("", |rule| rule.code);
                format!("rules are {} to {}, each also by its name", code(first), code(last))
            }
            Self::Agent(unknown) => match unknown.nearest() {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
                    format!("the agents are {}", names.join(", "))
                }
            },
            Self::Twice { .. } => "leave it in one of them".to_owned(),
            Self::Ignore(_) => "write globs as in a .gitignore, such as `vendor/**`".to_owned(),
        }
    }
}

/// Validated settings of a check.
#[derive(Debug)]
pub struct CheckPolicy {
    agents: Vec<&'static Profile>,
    severities: Vec<Option<Severity>>,
    ignore: Option<AppliesTo>,
    root: PathBuf,
}

impl CheckPolicy {
    /// Validates settings. `agents`, if not empty, replace those of the settings.
    pub fn new(settings: &CheckSettings, agents: &[String]) -> Result<Self, PolicyError> {
        let named = if agents.is_empty() { &settings.agents } else { agents };
        let agents =
            if named.is_empty() { compare::verified_agents() } else { compare::agents(Some(named))? };
        let mut severities: Vec<Option<Severity>> = RULES.iter().map(|rule| Some(rule.severity)).collect();
        let mut set: Vec<Option<&'static str>> = vec![None; RULES.len()];
        for (setting, rules, severity) in [
            ("check.off", &settings.off, None),
            ("check.error", &settings.error, Some(Severity::Error)),
            ("check.warning", &settings.warning, Some(Severity::Warning)),
            ("check.info", &settings.info, Some(Severity::Info)),
        ] {
            for named in rules {
                let rule = rule(named, setting)?;
                let index = rule.id as usize;
                // A rule may be listed twice in one setting, by code and by name, but two settings would contradict
                // each other silently.
                if let Some(first) = set[index].filter(|first| *first != setting) {
                    return Err(PolicyError::Twice { code: rule.code, first, second: setting });
                }
                set[index] = Some(setting);
                severities[index] = severity;
            }
        }
        let ignore = match settings.ignore.as_slice() {
            [] => None,
            globs => Some(AppliesTo::new(globs.to_vec()).map_err(PolicyError::Ignore)?),
        };
        Ok(Self { agents, severities, ignore, root: PathBuf::new() })
    }

    /// Applies a choice of rules. A selected rule that the settings disable has its default severity.
    pub fn choose(mut self, choice: &RuleChoice) -> Result<Self, PolicyError> {
        let ids = |names: &[String], setting| -> Result<Vec<RuleId>, PolicyError> {
            names.iter().map(|name| Ok(rule(name, setting)?.id)).collect()
        };
        let selected = ids(&choice.select, "--select")?;
        let ignored = ids(&choice.ignore, "--ignore")?;
        for rule in RULES {
            let severity = &mut self.severities[rule.id as usize];
            if ignored.contains(&rule.id) || !selected.is_empty() && !selected.contains(&rule.id) {
                *severity = None;
            } else if selected.contains(&rule.id) {
                severity.get_or_insert(rule.severity);
            }
        }
        Ok(self)
    }

    /// Sets the directory that globs of ignored paths are relative to.
    #[must_use]
    pub(crate) fn below(mut self, root: &Path) -> Self {
        self.root = root.to_owned();
        self
    }

    pub fn agents(&self) -> &[&'static Profile] {
        &self.agents
    }

    /// Returns the severity of a rule's findings, or `None` if the rule is disabled.
    pub fn severity(&self, rule: RuleId) -> Option<Severity> {
        self.severities[rule as usize]
    }

    pub(crate) fn is_on(&self, rule: RuleId) -> bool {
        self.severity(rule).is_some()
    }

    pub(crate) fn ignores(&self, path: &Path) -> bool {
        self.ignore.as_ref().is_some_and(|ignore| ignore.matches(Target::File(path), &self.root))
    }
}

fn rule(named: &str, setting: &'static str) -> Result<&'static CheckRule, PolicyError> {
    CheckRule::find(named).ok_or_else(|| {
        let meant = similar(named, RULES.iter().map(|rule| rule.name));
        PolicyError::Rule { named: named.to_owned(), setting, meant }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: impl FnOnce(&mut CheckSettings)) -> CheckSettings {
        let mut settings = CheckSettings::default();
        set(&mut settings);
        settings
    }

    #[test]
    fn severities_are_set_by_code_or_name() {
        let settings = settings(|settings| {
            settings.off = vec!["FW008".to_owned()];
            settings.error = vec!["missing-command".to_owned()];
        });
        let policy = CheckPolicy::new(&settings, &[]).unwrap();
        assert_eq!(policy.severity(RuleId::MissingPath), None);
        assert_eq!(policy.severity(RuleId::MissingCommand), Some(Severity::Error));
        assert_eq!(policy.severity(RuleId::LostText), Some(Severity::Error));
    }

    #[test]
    fn errors_suggest_the_intended_name() {
        let error = |set: fn(&mut CheckSettings)| CheckPolicy::new(&settings(set), &[]).unwrap_err();
        let unknown = error(|settings| settings.off = vec!["mising-path".to_owned()]);
        assert_eq!(unknown.to_string(), "there is no rule `mising-path` (in check.off)");
        assert_eq!(unknown.hint(), "did you mean `missing-path`?");
        let twice = error(|settings| {
            settings.off = vec!["FW001".to_owned()];
            settings.info = vec!["unread-file".to_owned()];
        });
        assert_eq!(twice.to_string(), "the rule FW001 is in check.off and in check.info");
        let agent = CheckPolicy::new(&CheckSettings::default(), &["cluade".to_owned()]).unwrap_err();
        assert_eq!(agent.hint(), "did you mean `claude-code`?");
        assert!(matches!(error(|settings| settings.ignore = vec!["[".to_owned()]), PolicyError::Ignore(_)));
    }

    #[test]
    fn documented_agents_are_checked_on_request() {
        let names = |policy: &CheckPolicy| policy.agents().iter().map(|agent| agent.name).collect::<Vec<_>>();
        let policy = CheckPolicy::new(&CheckSettings::default(), &[]).unwrap();
        assert!(names(&policy).contains(&"codex") && !names(&policy).contains(&"cursor"));
        let settings = settings(|settings| settings.agents = vec!["cursor".to_owned(), "cursor".to_owned()]);
        assert_eq!(names(&CheckPolicy::new(&settings, &[]).unwrap()), ["cursor"]);
        assert_eq!(names(&CheckPolicy::new(&settings, &["pi".to_owned()]).unwrap()), ["pi"]);
    }

    #[test]
    fn paths_are_ignored_from_the_root() {
        let settings = settings(|settings| settings.ignore = vec!["vendor/**".to_owned()]);
        let policy = CheckPolicy::new(&settings, &[]).unwrap().below(Path::new("/r"));
        assert!(policy.ignores(Path::new("/r/vendor/a/AGENTS.md")));
        assert!(!policy.ignores(Path::new("/r/AGENTS.md")));
    }
}
