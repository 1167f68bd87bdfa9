//! Text from outside, made safe to store as a reason and to show on a terminal.

/// The text with its control characters escaped, and those that reorder what stands around them;
/// everything else as it is.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || reorders(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Marks that change the order of what a terminal shows, so that it reads as something else.
const fn reorders(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}
