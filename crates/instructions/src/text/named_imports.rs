//! Imports that a text names, whether or not the files exist.

use crate::profile::{ImportSyntax, Profile};
use crate::text::mentions;
use crate::text::references;

/// A file that a text imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedImport {
    /// Path as the agent reads it. Some agents include punctuation at its end.
    pub path: String,
    /// Line in the text, from 1.
    pub line: usize,
}

/// Returns the imports of a text by an agent's syntax, in order. Empty if the agent has no imports.
pub fn named_imports(text: &str, profile: &Profile) -> Vec<NamedImport> {
    let Some(imports) = profile.imports else { return Vec::new() };
    if imports.syntax == ImportSyntax::Words {
        let found = references::find(text).found.into_iter();
        // The last candidate has no punctuation at its end.
        let named = found.filter_map(|found| {
            let path = found.candidates().last()?.to_owned();
            Some(NamedImport { path, line: found.line })
        });
        return named.collect();
    }
    let mut line = 1;
    let mut counted = 0;
    let named = mentions::find(text, imports.syntax).into_iter().map(|mention| {
        line += text[counted..mention.range.start].matches('\n').count();
        counted = mention.range.start;
        NamedImport { path: mention.path, line }
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CLAUDE_CODE, CODEX, FOREWORD, GEMINI_CLI};

    #[test]
    fn agents_differ_in_the_end_of_a_path() {
        let text = "See @a.md.\n\n`@b.md` and @c.md\n";
        let found = |profile| {
            let found = named_imports(text, profile);
            found.into_iter().map(|found| format!("{} {}", found.line, found.path)).collect::<Vec<_>>()
        };
        assert_eq!(found(&FOREWORD), ["1 a.md", "3 c.md"]);
        assert_eq!(found(&CLAUDE_CODE), ["1 a.md.", "3 c.md"]);
        assert_eq!(found(&GEMINI_CLI), ["1 a.md.", "3 c.md"]);
        assert_eq!(found(&CODEX), Vec::<String>::new());
    }
}
