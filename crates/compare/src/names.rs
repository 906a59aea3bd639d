//! Which names in a directory matter to which agent, as the profiles have them.

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

    /// Whether a profile is among them.
    pub fn contain(self, profile: &'static Profile) -> bool {
        let index = PROFILES.iter().position(|known| *known == profile);
        index.is_some_and(|index| self.0 & Self::one(index).0 != 0)
    }

    pub(crate) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

/// The names that a walk looks for.
#[derive(Debug)]
pub struct Names {
    /// By the first part of a name, in small letters: whose answer an entry of that name can change.
    first_parts: HashMap<Vec<u8>, Agents>,
    /// By the last part of a name, in small letters: the whole names of instruction files.
    files: HashMap<Vec<u8>, Vec<String>>,
    /// Names of first and last parts have one of these lengths, one bit each.
    lengths: u128,
    /// First parts of names as the profiles spell them.
    pub(crate) spelled: Vec<String>,
    /// Paths of folders whose files are rules, and how those end.
    folders: Vec<(&'static str, &'static str)>,
}

/// Where a repository begins; it changes what every agent reads.
const REPOSITORY: &str = ".git";

impl Names {
    /// Those of all profiles, of files that other agents read, and some more.
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
            for RuleFolder { place, directory, suffix, .. } in profile.rule_folders {
                if *place == RuleFolderPlace::Home {
                    continue;
                }
                names.add_first_part(directory, agent);
                if !names.folders.contains(&(directory, suffix)) {
                    names.folders.push((directory, suffix));
                }
            }
            for marker in profile.markers {
                names.add_first_part(marker, agent);
            }
            if let Some(settings) = profile.settings_file {
                names.add_first_part(settings.in_project, agent);
            }
            if let Some(settings) = profile.json_settings.filter(|settings| settings.names.is_some()) {
                for path in settings.in_project {
                    names.add_first_part(path, agent);
                }
            }
        }
        names.add_first_part(REPOSITORY, Agents::EVERYBODY);
        for name in OTHER_AGENTS.iter().map(|(name, _)| *name).chain(more) {
            names.add_file(name, Agents::NOBODY);
        }
        names
    }

    /// With names that settings add; any agent may read them.
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

    /// What an entry of a directory is.
    pub(crate) fn judge(&self, path: &Path, name: &OsStr) -> Judgement {
        let bytes = name.as_bytes();
        let mut judgement = Judgement::default();
        if self.lengths & length_bit(bytes.len()) != 0 {
            let small = bytes.to_ascii_lowercase();
            judgement.agents = self.first_parts.get(&small).copied();
            // The part before the last is compared as it is: no agent takes a folder in other letters.
            let ends_with = |name: &String| match Path::new(name).parent() {
                Some(folder) if folder != Path::new("") => {
                    path.parent().is_some_and(|parent| parent.ends_with(folder))
                }
                _ => true,
            };
            judgement.is_instructions =
                self.files.get(&small).is_some_and(|names| names.iter().any(ends_with));
        }
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

/// What an entry of a directory is.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// Whose answer it can change for its directory and those below; none where its name means nothing.
    pub(crate) agents: Option<Agents>,
    pub(crate) is_instructions: bool,
}

/// Names longer than the longest that is known share its bit.
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
    fn whom_a_name_concerns() {
        assert_eq!(judge("/r/GEMINI.md"), (vec!["gemini-cli", "copilot", "zed"], true));
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
