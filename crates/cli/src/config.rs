//! Configuration: layers of settings, each value with its origin.
//!
//! From lowest to highest: built-in values, the system file, the user file, the project file, environment variables, flags.
//! A higher layer replaces whole values, including lists. All keys and the layers that may set them are rows of one table
//! in [`table`], which everything else here reads.

mod check;
pub(crate) mod directories;
mod file;
#[cfg(test)]
mod fixture;
pub(crate) mod flag;
mod form;
mod key;
pub(crate) mod layers;
pub(crate) mod period;
pub(crate) mod project;
pub(crate) mod providers;
#[cfg(test)]
pub(crate) mod reference;
pub(crate) mod table;
pub(crate) mod value;
pub(crate) mod variable;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use file::ConfigurationFile;
use flag::Flag;
use layers::{Assignment, Entry, Layer, Layers, Origin};
use table::Sections;

use crate::failure::Failure;

/// Sources of settings.
#[derive(Debug)]
pub(crate) struct Sources<Environment> {
    /// System file; may be absent.
    pub(crate) system: PathBuf,
    /// User file in the home directory; may be absent.
    pub(crate) user: PathBuf,
    /// File given with `--config`, which replaces the user file and must exist.
    pub(crate) named: Option<PathBuf>,
    /// Base of relative paths in flags and variables; absolute.
    pub(crate) working_directory: PathBuf,
    /// Start of the search for the project root.
    pub(crate) project_start: PathBuf,
    /// All environment variables.
    pub(crate) environment: Environment,
    /// Settings given as flags. The last one for a key wins.
    pub(crate) flags: Vec<Flag>,
}

/// A harmless problem that is probably not intended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// The effective settings.
#[derive(Debug)]
pub(crate) struct Configuration(Layers);

impl Configuration {
    /// Reads all layers and returns warnings for the caller to print.
    pub(crate) fn load<Environment>(sources: Sources<Environment>) -> Result<(Self, Vec<Warning>), Failure>
    where
        Environment: Iterator<Item = (OsString, OsString)>,
    {
        let here = &sources.working_directory;
        let mut layers = Layers::default();
        let user_file = here.join(sources.named.as_ref().unwrap_or(&sources.user));
        let mut is_there = |layer, path: &Path| -> Result<bool, Failure> {
            let Some(file) = ConfigurationFile::read(layer, path)? else { return Ok(false) };
            file.assignments()?.into_iter().for_each(|assignment| layers.apply(assignment));
            Ok(true)
        };
        is_there(Layer::System, &here.join(&sources.system))?;
        // A missing user file is normal, but a file named on the command line was meant to exist.
        if !is_there(Layer::User, &user_file)? && sources.named.is_some() {
            let message = format!("the configuration file {} does not exist", user_file.display());
            return Err(Failure::usage(message).hint("create the file, or omit `--config`"));
        }

        let others = [&*sources.system, &*sources.user, &*user_file];
        let project_file = project::find_file(&here.join(&sources.project_start), &others)?;
        let project = project_file.map(|path| ConfigurationFile::read(Layer::Project, &path)).transpose()?;
        let project_limits = match project.flatten() {
            Some(file) => project::apply(&mut layers, &file, &user_file)?,
            None => project::ProjectLimits::default(),
        };

        // The environment is collected because it is read three times: for our variables, for those of the active
        // agent, and for the addresses of providers.
        let environment: Vec<(OsString, OsString)> = sources.environment.collect();
        let (variables, mut warnings) = variable::read(&environment)?;
        let flags: Vec<Assignment> = sources.flags.into_iter().map(assign).collect::<Result<_, _>>()?;
        let mut apply = |assignments: Vec<Assignment>| {
            for assignment in assignments {
                // Relative paths in variables and flags refer to the working directory, unlike those in files.
                layers.apply(Assignment { value: assignment.value.below(here), ..assignment });
            }
            project::profile(&layers)
        };
        // Apply flags twice: one of them may choose the profile and thereby the agent's own variables, which rank between
        // our variables and the flags.
        apply(variables);
        let profile = apply(flags.clone());
        let prefix = profile.map_or(key::VARIABLE_PREFIX, |profile| profile.search.variable_prefix);
        apply(variable::read_of_agent(&environment, prefix)?);
        apply(flags);
        // Limits are withdrawn last, because variables and flags may still select another profile with other
        // limits.
        warnings.extend(project_limits.withdraw(&mut layers));
        // Checks across keys need the final values: a higher layer may correct a lower one.
        check::check(&layers)?;
        providers::note_addresses(&mut layers, |wanted| {
            let found = environment.iter().find(|(name, _)| name.to_str() == Some(wanted));
            found.and_then(|(_, value)| value.to_str().map(str::to_owned))
        });
        Ok((Configuration(layers), warnings))
    }

    pub(crate) fn sections(&self) -> &Sections {
        &self.0.sections
    }

    /// Returns the origin of a key, for messages about its value.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        self.0.origin(path)
    }

    /// Returns every key with its value and origin.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.entries()
    }
}

fn assign(flag: Flag) -> Result<Assignment, Failure> {
    let Flag { name, key, value } = flag;
    let origin = Origin::Flag(name);
    match key.kind().check(value) {
        Ok(value) => Ok(Assignment { key, path: key.path.into(), value, origin }),
        Err(found) => Err(origin.wrong_value(key.path, key, &found)),
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::Fixture;
    use super::*;

    const LISTEN: &str = "gateway.listen";

    #[test]
    fn built_in_values_apply_without_any_layer() {
        let fixture = Fixture::new();
        let (configuration, warnings) = fixture.load().unwrap();
        assert_eq!(warnings, []);
        for entry in configuration.entries() {
            assert_eq!((entry.origin, entry.source), ("built-in", None), "{}", entry.key);
        }
    }

    #[test]
    fn each_layer_overrides_those_below_it() {
        let mut fixture = Fixture::new();
        let profile = "agents.profile";
        let mut check = |expected: &str, layer: Layer, prepare: &dyn Fn(&mut Fixture)| {
            prepare(&mut fixture);
            let (configuration, _) = fixture.load().unwrap();
            assert_eq!(configuration.sections().profile, expected);
            assert_eq!(configuration.origin(profile).layer(), layer);
        };
        check("foreword", Layer::BuiltIn, &|_| {});
        check("system", Layer::System, &|fixture| fixture.system("agents.profile = \"system\""));
        check("user", Layer::User, &|fixture| fixture.user("agents.profile = \"user\""));
        check("project", Layer::Project, &|fixture| fixture.project("agents.profile = \"project\""));
        check("variable", Layer::Environment, &|fixture| {
            fixture.variable("FOREWORD_AGENTS_PROFILE", "variable");
        });
        check("flag", Layer::Flags, &|fixture| fixture.flag("--profile", profile, "flag"));
    }

    #[test]
    fn an_agents_own_variables_rank_between_ours_and_flags() {
        let mut fixture = Fixture::new();
        fixture.variable("CODELIA_AGENTS_INITIAL_MAX_BYTES", "100");
        fixture.variable("CODELIA_AGENTS_MARKERS", ".top,.git");
        fixture.variable("CODELIA_AGENTS_ROOT", "up");
        // Other variables of the agent are not settings of ours, so they must cause neither errors nor warnings.
        fixture.variable("CODELIA_HOME", "is its own affair");
        fixture.variable("FOREWORD_AGENTS_INITIAL_MAX_BYTES", "200");
        let max_bytes = "agents.initial.max_bytes";
        let check = |fixture: &Fixture, bytes: u64, source: &str| {
            let (configuration, warnings) = fixture.load().unwrap();
            assert_eq!(warnings, []);
            assert_eq!(configuration.sections().files.agents.initial.max_bytes, Some(bytes));
            assert_eq!(configuration.origin(max_bytes).source().unwrap(), source);
            configuration.sections().files.clone()
        };
        let ours = check(&fixture, 200, "FOREWORD_AGENTS_INITIAL_MAX_BYTES");
        assert_eq!((ours.agents.root.markers, ours.agents.root.project_root_override), (None, None));
        fixture.variable("FOREWORD_AGENTS_PROFILE", "codelia");
        let theirs = check(&fixture, 100, "CODELIA_AGENTS_INITIAL_MAX_BYTES");
        assert_eq!(theirs.agents.root.markers, Some(vec![".top".to_owned(), ".git".to_owned()]));
        assert_eq!(theirs.agents.root.project_root_override, Some(fixture.path("project/up")));
        fixture.flag("--max-bytes", max_bytes, 300_u64);
        check(&fixture, 300, "--max-bytes");
        fixture.flag("--profile", "agents.profile", "codex");
        assert_eq!(check(&fixture, 300, "--max-bytes").agents.root.markers, None);
    }

    #[test]
    fn the_profile_flag_selects_the_agents_variables() {
        let mut fixture = Fixture::new();
        fixture.variable("CODELIA_AGENTS_ENABLED", "no");
        assert!(fixture.load().unwrap().0.sections().files.enabled());
        fixture.flag("--profile", "agents.profile", "codelia");
        assert!(!fixture.load().unwrap().0.sections().files.enabled());
        fixture.variable("CODELIA_AGENTS_INITIAL_MAX_FILES", "many");
        let error = fixture.load().unwrap_err().to_string();
        assert!(error.starts_with("environment variable `CODELIA_AGENTS_INITIAL_MAX_FILES`: "), "{error}");
    }

    #[test]
    fn a_list_is_replaced_as_a_whole() {
        let mut fixture = Fixture::new();
        fixture.system("gateway.allowed_hosts = [\"a\", \"b\"]");
        fixture.user("gateway.allowed_hosts = [\"c\"]");
        let (configuration, _) = fixture.load().unwrap();
        assert_eq!(configuration.sections().gateway.allowed_hosts, ["c"]);
    }

    #[test]
    fn config_replaces_the_user_file_and_must_exist() {
        let mut fixture = Fixture::new();
        fixture.user("gateway.listen = \"user:1\"");
        fixture.named = Some("other.toml".into());
        let error = fixture.load().unwrap_err();
        let path = fixture.path("project/other.toml");
        assert_eq!(error.to_string(), format!("the configuration file {} does not exist", path.display()));
        assert_eq!(error.hints[0], "create the file, or omit `--config`");

        fixture.write("project/other.toml", "gateway.listen = \"other:1\"");
        let (configuration, _) = fixture.load().unwrap();
        assert_eq!(configuration.sections().gateway.listen, "other:1");
        assert_eq!(configuration.origin(LISTEN), Origin::File { layer: Layer::User, path, line: 1 });
    }

    #[test]
    fn relative_paths_resolve_against_their_layers_directory() {
        let mut fixture = Fixture::new();
        fixture.user("client.token_file = \"my.token\"");
        fixture.variable("FOREWORD_AGENTS_ROOT", "./up");
        let (configuration, _) = fixture.load().unwrap();
        assert_eq!(configuration.sections().client.token_file, Some(fixture.path("home/my.token")));
        assert_eq!(
            configuration.sections().files.agents.root.project_root_override,
            Some(fixture.path("project/up"))
        );
    }

    #[test]
    fn a_flag_is_checked_like_every_other_layer() {
        let mut fixture = Fixture::new();
        fixture.flag("--delivery", "agents.resolver.delivery", "inlin");
        let error = fixture.load().unwrap_err();
        assert_eq!(
            error.to_string(),
            "flag `--delivery`: `agents.resolver.delivery` must be one of `pointer`, `inline`, `auto`, found \"inlin\""
        );
    }

    #[test]
    fn the_json_lists_every_key_with_its_source() {
        let mut fixture = Fixture::new();
        fixture.user("[gateway]\ndatabase = \"postgres://me:secret@db/x\"");
        fixture.variable("FOREWORD_WORKSPACE", "docs");
        let values = crate::command::gateway::reference::values(&fixture.load().unwrap().0);
        let known = table::KEYS.iter().filter(|key| !key.is_named_by_user());
        let addresses = provider::BuiltIn::TABLE.len();
        assert_eq!(values.len(), known.count() + addresses, "provider addresses are listed too");
        let value = |key: &str| values.iter().find(|value| value["key"] == key).unwrap().clone();
        let user_file = fixture.path("home/config.toml");
        assert_eq!(
            value("gateway.database"),
            serde_json::json!({
                "key": "gateway.database", "value": "postgres://me:***@db/x", "origin": "user", "source": user_file,
            })
        );
        assert_eq!(
            value("client.workspace"),
            serde_json::json!({
                "key": "client.workspace", "value": "docs", "origin": "environment", "source": "FOREWORD_WORKSPACE",
            })
        );
        assert_eq!(
            value("client.url"),
            serde_json::json!({ "key": "client.url", "value": null, "origin": "built-in", "source": null })
        );
    }
}
