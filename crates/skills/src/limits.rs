//! Limits on reading and caching.

/// Most bytes of a SKILL.md.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Most bytes of a front matter. Parsing YAML is slow, and a repository may have thousands of skills.
pub(crate) const MAX_FRONT_MATTER_BYTES: usize = 16 * 1024;
/// Most bytes of a file given to a model in one call.
pub const MAX_READ_BYTES: usize = 64 * 1024;
/// Most skills of all directories together.
pub const MAX_SKILLS: usize = 20_000;

/// Most files of a skill, and their bytes together.
pub(crate) const MAX_SKILL_FILES: usize = 1_000;
pub(crate) const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;
/// Greatest depth of directories in a skill's folder.
pub(crate) const MAX_FOLDER_DEPTH: usize = 16;
/// Greatest depth of folders that only group skills.
pub(crate) const MAX_GROUP_DEPTH: usize = 4;
/// Most directory entries visited in all directories together.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// Most characters of a description in a prompt.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// Most characters of a slug.
pub(crate) const MAX_SLUG_CHARS: usize = 64;
/// Most characters of the section about skills.
pub(crate) const MAX_TEXT_CHARS: usize = 8_000;
/// Most active skills with which the full text of a matching one is included.
pub(crate) const MAX_ACTIVE_FOR_BODIES: usize = 3;
/// Most bytes of a trusted text that is kept for later comparison.
pub(crate) const MAX_COPY_BYTES: usize = 256 * 1024;
