//! Tables without lines: columns apart by two blanks, rows one line high.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Row, Table as Grid};

use super::Screen;
use super::text::wrapped;

/// How a column behaves when the screen is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is shown whole.
    Whole,
    /// It is shown whole, to the right.
    Right,
    /// It is cut.
    Cut,
}

/// A table in the making. Under a row may stand a sentence, indented.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Fit)>,
    rows: Vec<(Vec<String>, Option<String>)>,
}

impl Table {
    pub(super) fn new<const N: usize>(columns: [(&'static str, Fit); N]) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    pub(super) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push((cells.into(), None));
    }

    /// A row and the sentence that explains it.
    pub(super) fn row_with<const N: usize>(&mut self, cells: [String; N], sentence: String) {
        self.rows.push((cells.into(), Some(sentence)));
    }

    pub(super) fn render(&self, screen: Screen) -> String {
        let grid = self.grid(screen);
        let mut lines = grid.lines().map(|line| line.trim_end().to_owned());
        let mut text: Vec<String> = lines.next().into_iter().collect();
        for (line, (_, sentence)) in lines.zip(&self.rows) {
            text.push(line);
            text.extend(sentence.iter().map(|said| wrapped(said, "     ", screen.width)));
        }
        text.join("\n")
    }

    fn grid(&self, screen: Screen) -> Grid {
        let mut grid = Grid::new();
        // The last column ends with the two blanks that part it from nothing.
        grid.load_style(comfy_table::presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_truncation_indicator("…")
            .set_width(screen.width.saturating_add(2))
            .set_header(self.columns.iter().map(|(head, _)| *head));
        for (cells, _) in &self.rows {
            let mut row = Row::from(cells.iter());
            row.max_height(1);
            grid.add_row(row);
        }
        for (column, (_, fit)) in grid.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, 2));
            if *fit != Fit::Cut {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if *fit == Fit::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_cuts_what_may_be_cut_and_nothing_else() {
        let mut table = Table::new([("SEQ", Fit::Right), ("TYPE", Fit::Cut), ("MARK", Fit::Whole)]);
        table.row(["7".into(), "pull_request.synchronized".into(), "queued on work_1".into()]);
        table.row_with(["12".into(), "ping".into(), "unmatched".into()], "no route".into());
        let screen = Screen { width: 40, now: jiff::Timestamp::UNIX_EPOCH };
        let text = table.render(screen);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert_eq!(
            text,
            [
                "SEQ  TYPE               MARK",
                "  7  pull_request.syn…  queued on work_1",
                " 12  ping               unmatched",
                "     no route",
            ]
            .join("\n")
        );
    }
}
