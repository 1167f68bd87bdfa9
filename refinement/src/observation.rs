//! What the runtime shows, in the model's words: rows and sequences become the names of one world.
//!
//! `rows` is what an actor reads before it acts, `derived` binds what no receipt names, and `view` is the whole observation
//! as the model's view; `rejections` and `words` are parts of it. What a new table shows of itself is one more part.

mod derived;
mod rejections;
mod rows;
mod view;
mod words;

pub use derived::bind_derived;
pub use rows::Rows;
pub use view::view;
