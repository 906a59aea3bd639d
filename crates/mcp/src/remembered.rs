//! What servers offered when they were last asked, in files of the gateway's data directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use protocol::ContentHash;
use serde::{Deserialize, Serialize};

use crate::definition::Definition;

/// More is not ours.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// What one server offered, and what of it was there when it was first asked or has been allowed since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    /// Of the configuration that it was asked with: another one is another server.
    configuration: String,
    pub(crate) tools: Vec<Definition>,
    /// Digests of definitions that calls need not ask for, by tool.
    accepted: BTreeMap<String, ContentHash>,
}

impl Remembered {
    /// What a new server offers: whoever configured it has accepted that.
    pub(crate) fn first(configuration: &ContentHash, tools: Vec<Definition>) -> Self {
        let accepted = tools.iter().map(|tool| (tool.name.clone(), tool.digest())).collect();
        Self { configuration: configuration.to_string(), tools, accepted }
    }

    /// What it offers now. What was not there before, or was something else, is accepted by nobody yet.
    pub(crate) fn changed(&self, tools: Vec<Definition>) -> Self {
        Self { tools, ..self.clone() }
    }

    pub(crate) fn is_accepted(&self, definition: &Definition) -> bool {
        self.accepted.get(&definition.name) == Some(&definition.digest())
    }

    pub(crate) fn accept(&mut self, definition: &Definition) {
        self.accepted.insert(definition.name.clone(), definition.digest());
    }

    /// What was remembered of a server with this configuration. What cannot be read is as if it were not there.
    pub(crate) fn load(directory: &Path, server: &str, configuration: &ContentHash) -> Option<Self> {
        let path = file(directory, server);
        if std::fs::metadata(&path).ok()?.len() > MAX_FILE_BYTES {
            return None;
        }
        let remembered: Self = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        (remembered.configuration == configuration.as_str()).then_some(remembered)
    }

    pub(crate) fn save(&self, directory: &Path, server: &str) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(directory)?;
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        io::Write::write_all(&mut new, &serde_json::to_vec(self)?)?;
        new.persist(file(directory, server)).map(drop).map_err(|error| error.error)
    }
}

/// The digest of the name, which may be anything.
fn file(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{}.json", &ContentHash::of(server).as_str()[..32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, description: &str) -> Definition {
        let (name, description) = (name.to_owned(), description.to_owned());
        Definition { name, description, schema: serde_json::json!({ "type": "object" }), read_only: false }
    }

    #[test]
    fn what_changes_is_accepted_by_nobody_until_somebody_does() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("mcp");
        let configuration = ContentHash::of("one");
        let (one, other) = (definition("a", "reads"), definition("a", "deletes everything"));
        let first = Remembered::first(&configuration, vec![one.clone()]);
        let mut now = first.changed(vec![other.clone(), definition("b", "new")]);
        assert!(first.is_accepted(&one) && !now.is_accepted(&other));
        assert!(!now.is_accepted(&definition("b", "new")));
        now.accept(&other);
        assert!(now.is_accepted(&other) && !now.is_accepted(&one));
        now.save(&place, "../s").unwrap();
        assert_eq!(Remembered::load(&place, "../s", &configuration), Some(now));
        assert_eq!(Remembered::load(&place, "../s", &ContentHash::of("two")), None);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&place.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o700, "what servers offered is nobody else's affair");
        }
    }
}
