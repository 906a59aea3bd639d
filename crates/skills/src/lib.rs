//! Skills: finding them, and deciding which can be used.
//!
//! A skill is a folder with a `SKILL.md`: front matter with a name and a description, followed by instructions. [`resolve`]
//! finds the skills of a directory and gives each an outcome; [`Catalogue::activate`] selects those for a turn. A project's
//! skill is used only with exactly the content that the user has trusted ([`TrustFile`]).
//!
//! The crate is synchronous and needs no runtime; one [`SkillCache`] can be shared by any number of threads.
//!
//! ```
//! use skills::{SkillRequest, resolve};
//!
//! let home = tempfile::tempdir()?;
//! let folder = home.path().join("skills/release");
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("SKILL.md"), "---\nname: release\ndescription: How to release\n---\nTag it.\n")?;
//! let catalogue = resolve(&SkillRequest::new(home.path()), None);
//! let release = catalogue.usable("release").ok_or("it is there")?;
//! assert_eq!(release.description, "How to release");
//! assert_eq!(release.body()?, "Tag it.\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activation;
mod cache;
mod catalogue;
mod details;
mod discovery;
mod folder;
mod front_matter;
mod limits;
mod place;
mod runtime_text;
mod settings;
mod skill;
mod trust;

pub use activation::{Activation, Implicit, Situation};
pub use cache::SkillCache;
pub use catalogue::{Catalogue, SkillRequest, resolve};
pub use folder::ReadError;
pub use front_matter::SkillFrontMatter;
pub use limits::{MAX_FILE_BYTES, MAX_READ_BYTES, MAX_SKILLS};
pub use place::SkillOrigin;
pub use runtime_text::RuntimeText;
pub use settings::SkillSettings;
pub use skill::Skill;
pub use trust::candidate::{TrustCandidate, candidates};
pub use trust::comparison::{TrustChange, TrustChangeKind};
pub use trust::file::{TRUST_FILE, TrustError, TrustFile};
pub use trust::{PinnedFile, PinnedSkill, Trusted};
