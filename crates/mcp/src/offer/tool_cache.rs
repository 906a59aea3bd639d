//! The cached tool lists of servers, in files of the gateway's data directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use protocol::ContentHash;
use serde::{Deserialize, Serialize};

use crate::offer::definition::Definition;

/// Version of the file format.
const SCHEMA: u32 = 1;
/// Larger files were not written by us.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Tools of a server, and which of them are accepted: those of its first list, and those approved since.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolCache {
    /// Version of the file. A later version may record acceptance in another way.
    #[serde(default)]
    schema: u32,
    /// Digest of the configuration. Another configuration is another server.
    configuration: String,
    /// True until the server has been asked for its tools.
    #[serde(skip)]
    is_unknown: bool,
    pub(crate) tools: Vec<Definition>,
    /// Digests of definitions whose calls need no special approval, by tool.
    accepted: BTreeMap<String, ContentHash>,
}

impl ToolCache {
    /// Creates the cache of a new server. Configuring it accepts its first list.
    pub(crate) fn first(configuration: &ContentHash, tools: Vec<Definition>) -> Self {
        let accepted = tools.iter().map(|tool| (tool.name.clone(), tool.digest())).collect();
        Self { schema: SCHEMA, configuration: configuration.to_string(), is_unknown: false, tools, accepted }
    }

    /// Creates the cache of a known server whose file is unreadable. Nothing is accepted then.
    pub(crate) fn unknown(configuration: &ContentHash) -> Self {
        Self { is_unknown: true, ..Self::first(configuration, Vec::new()) }
    }

    /// Returns true if the tools are known.
    pub(crate) fn is_known(&self) -> bool {
        !self.is_unknown
    }

    /// Returns the cache with a new list. New and changed tools are not accepted yet.
    pub(crate) fn changed(&self, tools: Vec<Definition>) -> Self {
        Self { tools, is_unknown: false, ..self.clone() }
    }

    pub(crate) fn is_accepted(&self, definition: &Definition) -> bool {
        self.accepted.get(&definition.name) == Some(&definition.digest())
    }

    pub(crate) fn accept(&mut self, definition: &Definition) {
        self.accepted.insert(definition.name.clone(), definition.digest());
    }

    /// Loads the cache of a server with this configuration. `None` if the server was never asked. An unreadable file is an error,
    /// because it records which tools are accepted, and a new list must not be accepted automatically.
    pub(crate) fn load(
        directory: &Path,
        server: &str,
        configuration: &ContentHash,
    ) -> Result<Option<Self>, String> {
        let opened = match std::fs::File::open(file(directory, server)) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let mut bytes = Vec::new();
        let read = io::Read::read_to_end(&mut io::Read::take(opened, MAX_FILE_BYTES + 1), &mut bytes);
        if read.map_err(|error| error.to_string())? as u64 > MAX_FILE_BYTES {
            return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
        }
        let cached: Self = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if cached.schema > SCHEMA {
            return Err("a later version wrote it".to_owned());
        }
        Ok(Some(cached).filter(|it| it.configuration == configuration.as_str()))
    }

    pub(crate) fn save(&self, directory: &Path, server: &str) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(directory)?;
        let mut new = tempfile::NamedTempFile::new_in(directory)?;
        io::Write::write_all(&mut new, &serde_json::to_vec(self)?)?;
        // Persisted by rename, so a gateway that crashes never leaves half a file, which would accept nothing.
        new.persist(file(directory, server)).map(drop).map_err(|error| error.error)
    }
}

/// Returns the path of a server's file. Its name is a digest, because server names are arbitrary.
fn file(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{}.json", &ContentHash::of(server).as_str()[..32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, description: &str) -> Definition {
        let name = name.to_owned();
        let description = description.to_owned();
        Definition { name, description, schema: serde_json::json!({ "type": "object" }), read_only: false }
    }

    #[test]
    fn unreadable_file_accepts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("mcp");
        let configuration = ContentHash::of("one");
        assert_eq!(ToolCache::load(&place, "s", &configuration), Ok(None), "a new server");
        let first = ToolCache::first(&configuration, vec![definition("a", "reads")]);
        first.save(&place, "s").unwrap();
        let written = std::fs::read_to_string(file(&place, "s")).unwrap();
        for odd in ["", "{", &written.replace("\"schema\":1", "\"schema\":2")] {
            std::fs::write(file(&place, "s"), odd).unwrap();
            assert!(ToolCache::load(&place, "s", &configuration).is_err(), "{odd}");
        }
        let unknown = ToolCache::unknown(&configuration);
        let now = unknown.changed(vec![definition("a", "reads")]);
        assert!(!unknown.is_known() && now.is_known() && !now.is_accepted(&definition("a", "reads")));
        // The format before versions were added.
        std::fs::write(file(&place, "s"), written.replace("\"schema\":1,", "")).unwrap();
        assert!(ToolCache::load(&place, "s", &configuration).unwrap().is_some());
    }

    #[test]
    fn changed_tool_is_not_accepted_until_approved() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("mcp");
        let configuration = ContentHash::of("one");
        let one = definition("a", "reads");
        let other = definition("a", "deletes everything");
        let first = ToolCache::first(&configuration, vec![one.clone()]);
        let mut now = first.changed(vec![other.clone(), definition("b", "new")]);
        assert!(first.is_accepted(&one) && !now.is_accepted(&other));
        assert!(!now.is_accepted(&definition("b", "new")));
        now.accept(&other);
        assert!(now.is_accepted(&other) && !now.is_accepted(&one));
        now.save(&place, "../s").unwrap();
        assert_eq!(ToolCache::load(&place, "../s", &configuration), Ok(Some(now)));
        assert_eq!(ToolCache::load(&place, "../s", &ContentHash::of("two")), Ok(None));
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 1);
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&place.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o700, "tool lists are private to the user");
        }
    }
}
