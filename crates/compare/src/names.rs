//! File names that matter to agents, according to their profiles.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use instructions::profile::{RuleFolder, RuleFolderPlace};
use instructions::{OTHER_AGENTS, PROFILES, Profile};

/// A set of profiles, one bit each, in the order of [`PROFILES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Agents(u32);

impl Agents {
    const NOBODY: Self = Self(0);
    const EVERYBODY: Self = Self(u32::MAX);

    fn one(index: usize) -> Self {
        Self(1_u32.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)).unwrap_or(0))
    }

    /// Returns true if the set contains a profile.
    pub fn contain(self, profile: &'static Profile) -> bool {
        let index = PROFILES.iter().position(|known| *known == profile);
        index.is_some_and(|index| self.0 & Self::one(index).0 != 0)
    }

    pub(crate) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

/// Names that a walk looks for.
#[derive(Debug)]
pub struct Names {
    /// First parts of names in lower case, with the agents whose result they can change.
    first_parts: HashMap<Vec<u8>, Agents>,
    /// Last parts of names in lower case, with the complete names of instruction files.
    files: HashMap<Vec<u8>, Vec<String>>,
    /// Bit set of the lengths of first and last parts.
    // A walk tests every entry of a tree. Most names fail on this one bit, without being hashed.
    lengths: u128,
    /// First parts of names, as spelled in the profiles.
    pub(crate) spelled: Vec<String>,
    /// Folders of rules, with the suffix of their files.
    folders: Vec<(&'static str, &'static str)>,
}

/// Marker of a repository, which affects every agent.
const REPOSITORY: &str = ".git";

impl Names {
    /// Creates a set with the names of all profiles, of files of other agents, and of `more`.
    pub fn new<'a>(more: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = Self {
            first_parts: HashMap::new(),
            files: HashMap::new(),
            lengths: 0,
            folders: Vec::new(),
            spelled: Vec::new(),
        };
        for (index, profile) in PROFILES.iter().enumerate() {
            let agent = Agents::one(index);
            for name in profile.known_names() {
                names.add_file(name, agent);
            }
            for RuleFolder { place, directory, suffixes, .. } in profile.choose.rule_folders {
                if matches!(place, RuleFolderPlace::Home | RuleFolderPlace::UserHome) {
                    continue;
                }
                names.add_first_part(directory, agent);
                for suffix in *suffixes {
                    if !names.folders.contains(&(directory, suffix)) {
                        names.folders.push((directory, suffix));
                    }
                }
            }
            for marker in profile.search.markers {
                names.add_first_part(marker.name(), agent);
            }
            if let Some(settings) = profile.settings_file() {
                names.add_first_part(settings.in_project, agent);
            }
            if let Some(settings) = profile.json_settings().filter(|settings| settings.names.is_some()) {
                for path in settings.in_project {
                    names.add_first_part(path, agent);
                }
            }
        }
        // A nested repository changes the root and so every result below it, even for agents that have no marker of
        // this name in their profile.
        names.add_first_part(REPOSITORY, Agents::EVERYBODY);
        for name in OTHER_AGENTS.iter().map(|(name, _)| *name).chain(more) {
            names.add_file(name, Agents::NOBODY);
        }
        names
    }

    /// Adds names configured by settings. Any agent may read them.
    #[must_use]
    pub fn with_fallbacks<'a>(mut self, fallbacks: impl IntoIterator<Item = &'a str>) -> Self {
        for name in fallbacks {
            self.add_file(name, Agents::EVERYBODY);
        }
        self
    }

    fn add_file(&mut self, name: &str, agents: Agents) {
        self.add_first_part(name, agents);
        let Some(last) = name.rsplit('/').next() else { return };
        let names = self.files.entry(last.to_ascii_lowercase().into_bytes()).or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        self.lengths |= length_bit(last.len());
    }

    fn add_first_part(&mut self, name: &str, agents: Agents) {
        let Some(first) = name.split('/').next() else { return };
        if !self.spelled.iter().any(|known| known == first) {
            self.spelled.push(first.to_owned());
        }
        self.first_parts.entry(first.to_ascii_lowercase().into_bytes()).or_default().add(agents);
        self.lengths |= length_bit(first.len());
    }

    /// Classifies an entry of a directory.
    pub(crate) fn judge(&self, path: &Path, name: &OsStr) -> Judgement {
        let bytes = name.as_bytes();
        let mut judgement = Judgement::default();
        if self.lengths & length_bit(bytes.len()) != 0 {
            // Names are matched without regard to case: some agents read other spellings, and checks report those that
            // no agent reads.
            let small = bytes.to_ascii_lowercase();
            judgement.agents = self.first_parts.get(&small).copied();
            // The folder part is compared exactly: no agent accepts it in another letter case.
            let ends_with = |name: &String| match Path::new(name).parent() {
                Some(folder) if folder != Path::new("") => {
                    path.parent().is_some_and(|parent| parent.ends_with(folder))
                }
                _ => true,
            };
            judgement.is_instructions =
                self.files.get(&small).is_some_and(|names| names.iter().any(ends_with));
        }
        // Rules can have any name with the right suffix, so the test by length does not apply to them.
        judgement.is_instructions |= self.is_rule(path, bytes);
        judgement
    }

    fn is_rule(&self, path: &Path, name: &[u8]) -> bool {
        let fits = |(folder, suffix): &(&str, &str)| {
            name.ends_with(suffix.as_bytes()) && path.parent().is_some_and(|parent| lies_in(parent, folder))
        };
        self.folders.iter().any(fits)
    }
}

/// Classification of a directory's entry.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// Agents whose result it can change in its directory and below; `None` if its name is irrelevant.
    pub(crate) agents: Option<Agents>,
    pub(crate) is_instructions: bool,
}

/// All lengths beyond the last bit share it.
fn length_bit(length: usize) -> u128 {
    1 << length.min(127)
}

fn lies_in(directory: &Path, folder: &str) -> bool {
    directory.ancestors().any(|above| above.ends_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(path: &str) -> (Vec<&'static str>, bool) {
        let names = Names::new(["WARP.md"]);
        let path = Path::new(path);
        let Judgement { agents, is_instructions } = names.judge(path, path.file_name().unwrap());
        let agents = agents.unwrap_or_default();
        let known = PROFILES.iter().filter(|profile| agents.contain(profile));
        (known.map(|profile| profile.name).collect(), is_instructions)
    }

    #[test]
    fn names_concern_their_agents() {
        assert_eq!(judge("/r/GEMINI.md"), (vec!["gemini-cli", "copilot", "zed", "antigravity"], true));
        assert_eq!(judge("/r/src/main.rs"), (vec![], false));
        assert_eq!(judge("/r/WARP.md"), (vec![], true));
        let (agents, is_instructions) = judge("/r/agents.MD");
        assert!(agents.contains(&"copilot") && is_instructions, "{agents:?}");
        assert_eq!(judge("/r/.git").0.len(), PROFILES.len());
        assert_eq!(judge("/r/.codex").0, ["codex"]);
    }

    #[test]
    fn files_in_folders() {
        assert!(judge("/r/.github/copilot-instructions.md").1);
        assert!(!judge("/r/docs/copilot-instructions.md").1);
        assert!(judge("/r/.claude/rules/deep/style.md").1);
        assert!(!judge("/r/.claude/rules/deep/style.txt").1);
        assert!(!judge("/r/rules/style.md").1);
        assert!(judge("/r/.claude/CLAUDE.md").1);
    }
}
