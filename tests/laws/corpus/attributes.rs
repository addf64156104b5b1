#![a(b
#[c]
macro_rules! d { ($($e:tt)*) => {
