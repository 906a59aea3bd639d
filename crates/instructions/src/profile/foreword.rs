//! Our own rules: nothing is silent, the nearest instruction survives, a blank file hides nothing.

use super::*;

/// The profile `foreword`.
pub static FOREWORD: Profile = Profile {
    name: "foreword",
    names: &["AGENTS.override.md", "AGENTS.md"],
    added: &["AGENTS.local.md"],
    fallbacks: Fallbacks::Strict,
    blank: Blank::FallsThrough,
    home: Some(HomeFile::first_of(&["AGENTS.override.md", "AGENTS.md"])),
    markers: &[".foreword", ".git", ".jj", ".hg"],
    links: Links::InsideRoot,
    over_limit: OverLimit::NearestFirst,
    byte_order_mark: ByteOrderMark::Stripped,
    imports: Some(Imports {
        place: ImportPlace::OwnBlockAfter,
        max_depth: 5,
        syntax: ImportSyntax::Words,
        bounds: ImportBounds::Root,
        extensions: &[],
    }),
    front_matter: FrontMatterRule::Conditions,
    unsafe_text: UnsafeText::MadeHarmless,
    same_file: SameFile::UsedOnce,
    ..BASE
};
