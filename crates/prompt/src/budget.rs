//! How many characters each part may have: one table that the compiler, the settings and the docs read.

/// Limits in characters (code points).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// One bootstrap file.
    pub bootstrap_file: usize,
    /// All bootstrap files together.
    pub bootstrap_total: usize,
    /// An AGENTS.md document.
    pub agents_md: usize,
    /// Any other section that hooks or callers fill.
    pub section: usize,
    /// All sections together that hooks and callers fill.
    pub sections_total: usize,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            bootstrap_file: 20_000,
            bootstrap_total: 150_000,
            agents_md: 16_000,
            section: 8_000,
            sections_total: 48_000,
        }
    }
}

/// A budget by the name it has in settings.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Its name.
    pub name: &'static str,
    /// What it bounds.
    pub about: &'static str,
    /// Where it is kept.
    pub field: fn(&mut Budgets) -> &mut usize,
}

/// Every budget.
pub const BUDGETS: &[Budget] = &[
    Budget {
        name: "bootstrap_file_chars",
        about: "characters of one bootstrap file",
        field: |budgets| &mut budgets.bootstrap_file,
    },
    Budget {
        name: "bootstrap_total_chars",
        about: "characters of all bootstrap files together",
        field: |budgets| &mut budgets.bootstrap_total,
    },
    Budget {
        name: "agents_md_chars",
        about: "characters of an AGENTS.md document",
        field: |budgets| &mut budgets.agents_md,
    },
    Budget {
        name: "section_chars",
        about: "characters of any other section that hooks or callers fill",
        field: |budgets| &mut budgets.section,
    },
    Budget {
        name: "sections_total_chars",
        about: "characters of all sections together that hooks and callers fill",
        field: |budgets| &mut budgets.sections_total,
    },
];
