//! The character budgets, in one table that the compiler, the settings and the docs read.

/// Limits of a prompt in characters (code points).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptBudgets {
    /// One bootstrap file.
    pub bootstrap_file: usize,
    /// All bootstrap files together.
    pub bootstrap_total: usize,
    /// One AGENTS.md document.
    pub agents_md: usize,
    /// Any other section that a hook or the caller fills.
    pub section: usize,
    /// All sections together that hooks and the caller fill.
    pub sections_total: usize,
}

impl Default for PromptBudgets {
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

/// A row of the table of budgets.
#[derive(Debug, Clone, Copy)]
pub struct BudgetSetting {
    /// Name of the setting.
    pub name: &'static str,
    /// Description of the limited text.
    pub about: &'static str,
    /// Field that holds the limit.
    pub field: fn(&mut PromptBudgets) -> &mut usize,
}

/// Every budget that can be set.
pub const BUDGET_SETTINGS: &[BudgetSetting] = &[
    BudgetSetting {
        name: "bootstrap_file_chars",
        about: "characters of one bootstrap file",
        field: |budgets| &mut budgets.bootstrap_file,
    },
    BudgetSetting {
        name: "bootstrap_total_chars",
        about: "characters of all bootstrap files together",
        field: |budgets| &mut budgets.bootstrap_total,
    },
    BudgetSetting {
        name: "agents_md_chars",
        about: "characters of an AGENTS.md document",
        field: |budgets| &mut budgets.agents_md,
    },
    BudgetSetting {
        name: "section_chars",
        about: "characters of any other section that hooks or callers fill",
        field: |budgets| &mut budgets.section,
    },
    BudgetSetting {
        name: "sections_total_chars",
        about: "characters of all sections together that hooks and callers fill",
        field: |budgets| &mut budgets.sections_total,
    },
];
