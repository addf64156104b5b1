#[derive(Debug, Clone)]
pub struct Client {
    pub tries: u8,
    name: String,
}
pub enum State {
    Open,
    Closed(u8),
}
impl Client {
    pub fn get(&self, path: &str) -> Option<u8> {
        let wait = |n: u8| n * 2;
        let all = vec![1, 2, 3];
        match self.tries {
            0 => None,
            1 | 2 => Some(wait(1)),
            _ => {
                let x = all[0];
                Some((x))
            }
        }
    }
    pub fn stop(&self) -> u8 {
        if self.tries > 3 {
            return 1;
        }
        println!("{} {}", self.name, 1,);
        2
    }
}
pub extern "C" fn limit(a: u8) -> u8 {
    a
}
mod inner {
    use std::cmp::Ordering;
    use std::{collections::HashMap, fmt};
    pub fn run() -> Option<(HashMap<u8, u8>, Ordering, fmt::Error)> {
        None
    }
}
