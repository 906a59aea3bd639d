//! How much is looked at, read and kept.

/// Most bytes of a SKILL.md.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;
/// Most bytes of a front matter: reading YAML takes a while, and a repository may have thousands of skills.
pub(crate) const MAX_FRONT_MATTER_BYTES: usize = 16 * 1024;
/// Most bytes of a file that are given to a model at once.
pub const MAX_READ_BYTES: usize = 64 * 1024;
/// Most skills of all places together.
pub const MAX_SKILLS: usize = 20_000;

/// Files of one skill, and their bytes together, that can be trusted.
pub(crate) const MAX_SKILL_FILES: usize = 1_000;
pub(crate) const MAX_SKILL_BYTES: u64 = 16 * 1024 * 1024;
/// Directories in a skill's folder, one in the other.
pub(crate) const MAX_FOLDER_DEPTH: usize = 16;
/// Folders that only group skills, one in the other.
pub(crate) const MAX_GROUP_DEPTH: usize = 4;
/// Entries of all places together that are looked at.
pub(crate) const MAX_ENTRIES: usize = 100_000;
/// Characters of a description that a model is shown.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1_024;
/// Characters of a slug.
pub(crate) const MAX_SLUG_CHARS: usize = 64;
/// Characters of the section that tells a model of its skills.
pub(crate) const MAX_TEXT_CHARS: usize = 8_000;
/// Skills beside which the text of one that matches a path still has its place.
pub(crate) const MAX_ACTIVE_FOR_BODIES: usize = 3;
/// Bytes of a trusted text that are kept to compare with later.
pub(crate) const MAX_COPY_BYTES: usize = 256 * 1024;
