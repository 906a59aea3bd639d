//! Three texts side by side: the lines of two edits against the text that both began with.

use diff::Run;

/// Relation of a line to the text before both edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Same,
    Added,
    Removed,
    /// An empty cell beside a line that only another column has.
    Gap,
}

/// A line of one column: its number from 1, its mark and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub number: Option<usize>,
    pub mark: Mark,
    pub text: String,
}

impl Cell {
    fn gap() -> Self {
        Self { number: None, mark: Mark::Gap, text: String::new() }
    }

    fn new(number: usize, mark: Mark, line: &str) -> Self {
        Self { number: Some(number + 1), mark, text: line.trim_end_matches('\n').to_owned() }
    }
}

/// A row of the three columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlignedRow {
    pub base: Cell,
    pub local: Cell,
    pub remote: Cell,
}

impl AlignedRow {
    fn is_same(&self) -> bool {
        [&self.base, &self.local, &self.remote].iter().all(|cell| cell.mark == Mark::Same)
    }
}

/// One edit in terms of the lines of the base.
struct Edit<'a> {
    lines: Vec<&'a str>,
    /// Indexes of the lines added before each line of the base and after the last one.
    before: Vec<Vec<usize>>,
    /// Index of the edit's copy of each line of the base, or `None` if the edit removed it.
    kept: Vec<Option<usize>>,
}

impl<'a> Edit<'a> {
    fn new(base: &[&str], text: &'a str) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut before = vec![Vec::new(); base.len() + 1];
        let mut kept = vec![None; base.len()];
        let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (
            base.iter().map(|line| line.as_bytes()).collect(),
            lines.iter().map(|line| line.as_bytes()).collect(),
        );
        for Run { old, new, is_equal } in diff::runs(&old, &new) {
            if is_equal {
                for (old, new) in old.zip(new) {
                    kept[old] = Some(new);
                }
            } else {
                // A replacement is drawn below the lines that it replaces, so it belongs to the gap after
                // them. Both columns use the same gap, which puts two replacements of one line side by side.
                before[old.end].extend(new);
            }
        }
        Self { lines, before, kept }
    }

    fn added(&self, gap: usize, index: usize) -> Cell {
        self.before[gap]
            .get(index)
            .map_or_else(Cell::gap, |&line| Cell::new(line, Mark::Added, self.lines[line]))
    }

    fn at(&self, index: usize) -> Cell {
        self.kept[index].map_or_else(Cell::gap, |line| Cell::new(line, Mark::Same, self.lines[line]))
    }
}

/// An entry of the folded list of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoldedRow {
    Row(AlignedRow),
    /// Number of consecutive rows that are equal in all columns.
    Folded(usize),
}

/// Equal lines shown on both sides of a change.
const CONTEXT: usize = 2;

/// Folds rows that are equal in all columns, except next to a change.
pub fn fold(rows: Vec<AlignedRow>) -> Vec<FoldedRow> {
    let changed: Vec<usize> = (0..rows.len()).filter(|&index| !rows[index].is_same()).collect();
    let near = |index: usize| {
        // `changed` is sorted, so a binary search finds the only candidate. A linear scan would make a long
        // document with many changes quadratic, and this runs at every keystroke during a conflict.
        let after = changed.partition_point(|&change| change + CONTEXT < index);
        changed.get(after).is_some_and(|&change| change <= index + CONTEXT)
    };
    let mut shown: Vec<FoldedRow> = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        match shown.last_mut() {
            _ if near(index) => shown.push(FoldedRow::Row(row)),
            Some(FoldedRow::Folded(count)) => *count += 1,
            _ => shown.push(FoldedRow::Folded(1)),
        }
    }
    shown
}

/// Aligns two edits with their common base.
pub fn align(base: &str, local: &str, remote: &str) -> Vec<AlignedRow> {
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let local = Edit::new(&lines, local);
    let remote = Edit::new(&lines, remote);
    let mut rows = Vec::new();
    for gap in 0..=lines.len() {
        // Additions of both edits share rows, and the shorter list leaves gaps. Otherwise equal lines below
        // them would no longer be in one row.
        let added = local.before[gap].len().max(remote.before[gap].len());
        for index in 0..added {
            let base = Cell::gap();
            rows.push(AlignedRow { base, local: local.added(gap, index), remote: remote.added(gap, index) });
        }
        if let Some(line) = lines.get(gap) {
            let local = local.at(gap);
            let remote = remote.at(gap);
            let gone = local.mark == Mark::Gap || remote.mark == Mark::Gap;
            let mark = if gone { Mark::Removed } else { Mark::Same };
            rows.push(AlignedRow { base: Cell::new(gap, mark, line), local, remote });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(base: &str, local: &str, remote: &str) -> Vec<String> {
        let cell = |cell: &Cell| match cell.mark {
            Mark::Same => format!(" {}", cell.text),
            Mark::Added => format!("+{}", cell.text),
            Mark::Removed => format!("-{}", cell.text),
            Mark::Gap => "~".to_owned(),
        };
        align(base, local, remote)
            .iter()
            .map(|row| format!("{}|{}|{}", cell(&row.base), cell(&row.local), cell(&row.remote)))
            .collect()
    }

    #[test]
    fn equal_lines_share_a_row() {
        assert_eq!(drawn("a\nb\n", "a\nb\n", "a\nb\n"), [" a| a| a", " b| b| b"]);
    }

    #[test]
    fn edits_of_one_line_are_side_by_side() {
        assert_eq!(
            drawn("a\nb\nc\n", "a\nB\nc\n", "a\nbee\nc\n"),
            [" a| a| a", "-b|~|~", "~|+B|+bee", " c| c| c"]
        );
    }

    #[test]
    fn additions_leave_gaps_elsewhere() {
        assert_eq!(drawn("a\n", "a\nb\n", "a\n"), [" a| a| a", "~|+b|~"]);
        assert_eq!(drawn("", "a\n", ""), ["~|+a|~"]);
    }

    #[test]
    fn rows_far_from_changes_are_folded() {
        let base: String = (0..20).map(|line| format!("{line}\n")).collect();
        let shown = fold(align(&base, &base.replace("10\n", "ten\n"), &base));
        let counts: Vec<usize> = shown
            .iter()
            .map(|part| match part {
                FoldedRow::Row(_) => 1,
                FoldedRow::Folded(count) => *count,
            })
            .collect();
        assert_eq!(counts, [8, 1, 1, 1, 1, 1, 1, 7]);
        assert!(matches!(fold(align("a\n", "a\n", "a\n")).as_slice(), [FoldedRow::Folded(1)]));
    }

    #[test]
    fn every_line_of_every_text_is_there_once() {
        // All triples of these texts: losing or doubling a line in the conflict view would hide what a choice
        // discards.
        let texts = ["", "a\n", "a\nb\n", "b\na", "a\n\n\nb\n", "c\nd\n", "a\nc\nb\nd"];
        for base in texts {
            for local in texts {
                for remote in texts {
                    let rows = align(base, local, remote);
                    let column = |pick: fn(&AlignedRow) -> &Cell| -> Vec<String> {
                        let cells = rows.iter().map(pick).filter(|cell| cell.mark != Mark::Gap);
                        cells.map(|cell| cell.text.clone()).collect()
                    };
                    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
                    assert_eq!(column(|row| &row.base), lines(base));
                    assert_eq!(column(|row| &row.local), lines(local));
                    assert_eq!(column(|row| &row.remote), lines(remote));
                }
            }
        }
    }
}
