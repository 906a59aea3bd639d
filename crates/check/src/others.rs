//! Files of agents that are not checked. They are reported, so that a clean result is not mistaken for
//! approval.

use std::path::Path;

/// Relative paths of files and folders, with the agent they belong to.
pub(crate) const OTHERS: &[(&str, &str)] = &[
    (".aiassistant/rules", "JetBrains AI Assistant"),
    (".amazonq/rules", "Amazon Q"),
    (".augment-guidelines", "Augment"),
    (".augment/rules", "Augment"),
    (".clinerules", "Cline"),
    (".continue/rules", "Continue"),
    (".continuerules", "Continue"),
    (".cursor/rules", "Cursor"),
    (".cursorrules", "Cursor"),
    (".goosehints", "Goose"),
    (".idx/airules.md", "Firebase Studio"),
    (".junie/guidelines.md", "Junie"),
    (".kilocode/rules", "Kilo Code"),
    (".kiro/steering", "Kiro"),
    (".openhands/microagents", "OpenHands"),
    (".roo/rules", "Roo Code"),
    (".roorules", "Roo Code"),
    (".rules", "Zed"),
    (".trae/rules", "Trae"),
    (".windsurf/rules", "Windsurf"),
    (".windsurfrules", "Windsurf"),
    ("AGENT.md", "Amp"),
    ("CRUSH.md", "Crush"),
    ("WARP.md", "Warp"),
];

/// Names that are also used for pages for people. They count only where an agent reads them.
pub(crate) const AMBIGUOUS: &[&str] = &["CONTEXT.md", "CONVENTIONS.md"];

pub(crate) fn is_ambiguous(path: &Path) -> bool {
    AMBIGUOUS.iter().any(|name| path.ends_with(name))
}
