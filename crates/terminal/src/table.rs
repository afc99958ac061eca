//! Tables as text: one row a line, the cells of a column below each other.

/// Blanks between two columns.
const GAP: usize = 2;

/// A column: to which side its cells are, and how wide it is at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    is_left: bool,
    width: usize,
    gap: usize,
}

impl Column {
    /// Cells to the left, such as names.
    #[must_use]
    pub const fn left(width: usize) -> Self {
        Column { is_left: true, width, gap: GAP }
    }

    /// Cells to the right, such as numbers.
    #[must_use]
    pub const fn right(width: usize) -> Self {
        Column { is_left: false, width, gap: GAP }
    }

    /// With so many blanks before it, where it is not the first.
    #[must_use]
    pub const fn after(self, gap: usize) -> Self {
        Column { gap, ..self }
    }
}

/// One row, without blanks at its end. A cell that is too wide for its column moves those behind it.
pub fn row<C: AsRef<str>>(columns: &[Column], cells: &[C]) -> String {
    let mut line = String::new();
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let (cell, width) = (cell.as_ref(), column.width);
        let gap = if at == 0 { 0 } else { column.gap };
        // Blanks first: a width of 0 takes none.
        line.extend(std::iter::repeat_n(' ', gap));
        line.push_str(&if column.is_left { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
    }
    line.truncate(line.trim_end_matches(' ').len());
    line
}

/// All rows, a line each, with columns as wide as their widest cells. A row may have fewer cells than there are columns.
pub fn rows<R: AsRef<[C]>, C: AsRef<str>>(columns: &[Column], rows: &[R]) -> String {
    let mut columns = columns.to_vec();
    for (at, column) in columns.iter_mut().enumerate() {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(at));
        let widest = cells.map(|cell| cell.as_ref().chars().count()).max().unwrap_or(0);
        column.width = column.width.max(widest);
    }
    rows.iter().map(|cells| row(&columns, cells.as_ref()) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cells() {
        let table = rows(
            &[Column::left(0), Column::right(0), Column::left(0)],
            &[vec!["name", "count", "remark"], vec!["café", "7", ""], vec!["longer name", "1,234,567"]],
        );
        assert_eq!(table, "name             count  remark\ncafé                 7\nlonger name  1,234,567\n");
    }

    #[test]
    fn a_cell_that_is_too_wide_moves_those_behind_it() {
        let columns = [Column::right(3), Column::left(4).after(1), Column::left(0)];
        assert_eq!(row(&columns, &["1", "ab", "c"]), "  1 ab    c");
        assert_eq!(row(&columns, &["12345", "abcdef", "c"]), "12345 abcdef  c");
    }

    #[test]
    fn no_rows_are_no_lines() {
        assert_eq!(rows::<[&str; 1], &str>(&[Column::left(5)], &[]), "");
    }
}
