//! Text tables with headings.

use std::fmt;

/// A table of text: the first column is aligned left, the others right.
#[derive(Debug, Clone)]
pub struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// Creates a table with headings and no rows.
    pub fn new(headings: [&str; COLUMNS]) -> Self {
        Self { rows: vec![headings.map(str::to_owned)] }
    }

    pub fn row(&mut self, cells: [String; COLUMNS]) -> &mut Self {
        self.rows.push(cells);
        self
    }

    fn width(&self, column: usize) -> usize {
        // Characters instead of bytes, because `µ` and `×` have two bytes and `format!` pads by characters.
        self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| self.width(column));
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
                line.push_str(&match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("  {cell:>width$}"),
                });
            }
            writeln!(formatter, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["", "p50", "ratio"]);
        table.row(["bare statement".into(), "9.1 µs".into(), "1.00×".into()]);
        table.row(["store".into(), "10 µs".into(), String::new()]);
        let expected = "                   p50  ratio\n\
                        bare statement  9.1 µs  1.00×\n\
                        store            10 µs\n";
        assert_eq!(table.to_string(), expected);
    }
}
