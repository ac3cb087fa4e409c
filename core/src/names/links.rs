//! All names of the objects that had several at a time.
//!
//! An object is shown by one name; where it loses that, it is found by another that it still has.

use foldhash::fast;
use hashbrown::{HashMap, HashSet};

use crate::names::FileId;

/// A name in a directory.
pub(super) type Title = (FileId, Box<[u8]>);

/// What a name takes beside its bytes: its place, and what is allocated for it.
const TITLE_BYTES: usize = 64;

/// Names of an object from which on those that it lost are left out, each time that there are twice as many.
const MANY: usize = 16;

/// The names of each object, also those taken away since.
#[derive(Default)]
pub(super) struct Links {
    titles: HashMap<FileId, Vec<Title>, fast::RandomState>,
    bytes: usize,
}

impl Links {
    /// Memory that is taken, in bytes.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What one object takes of it.
    pub(super) fn bytes_of(&self, id: FileId) -> usize {
        self.titles.get(&id).into_iter().flatten().map(size).sum()
    }

    /// All names, with their objects.
    pub(super) fn all(&self) -> impl Iterator<Item = (FileId, &Title)> {
        self.titles.iter().flat_map(|(id, titles)| titles.iter().map(|title| (*id, title)))
    }

    /// Objects with several names, each with its own.
    pub(super) fn objects(&self) -> impl Iterator<Item = (FileId, &[Title])> {
        self.titles.iter().map(|(id, titles)| (*id, titles.as_slice()))
    }

    /// An object that had one name got another one. `denotes`: whether a name is still the object's.
    pub(super) fn add(
        &mut self,
        id: FileId,
        first: Option<Title>,
        title: Title,
        denotes: impl Fn(&Title) -> bool,
    ) {
        let titles = self.titles.entry(id).or_default();
        for title in first.filter(|_| titles.is_empty()).into_iter().chain([title]) {
            self.bytes += size(&title);
            titles.push(title);
        }
        if titles.len() >= MANY && titles.len().is_power_of_two() {
            let before: usize = titles.iter().map(size).sum();
            let mut known = HashSet::<Title, fast::RandomState>::default();
            titles.retain(|title| denotes(title) && known.insert(title.clone()));
            self.bytes -= before - titles.iter().map(size).sum::<usize>();
        }
    }

    /// An object lost all its names.
    #[inline]
    pub(super) fn remove(&mut self, id: FileId) {
        if !self.titles.is_empty()
            && let Some(titles) = self.titles.remove(&id)
        {
            self.bytes -= titles.iter().map(size).sum::<usize>();
        }
    }

    /// Objects get other numbers, or none.
    pub(super) fn move_files(&mut self, to: impl Fn(FileId) -> Option<FileId>) {
        for (id, titles) in std::mem::take(&mut self.titles) {
            let moved = titles.into_iter().filter_map(|(directory, name)| Some((to(directory)?, name)));
            let moved: Vec<Title> = moved.collect();
            if let (Some(id), false) = (to(id), moved.is_empty()) {
                self.titles.insert(id, moved);
            }
        }
        self.bytes = self.titles.values().flatten().map(size).sum();
    }
}

fn size((_, name): &Title) -> usize {
    TITLE_BYTES + name.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(number: u32) -> Title {
        (number % 3, number.to_string().into_bytes().into())
    }

    #[test]
    fn names_that_come_and_go_take_no_room() {
        let mut links = Links::default();
        for number in 0..1000 {
            links.add(7, Some(title(5000)), title(number), |known| *known == title(number));
        }
        assert!(links.bytes() <= 2 * MANY * size(&title(5000)), "{}", links.bytes());
        assert!(links.bytes() > 0);
        assert_eq!(links.bytes(), links.bytes_of(7));
        links.remove(7);
        assert_eq!(links.bytes(), 0);
        for _ in 0..1000 {
            links.add(8, Some(title(1)), title(2), |_| true);
        }
        assert!(links.bytes_of(8) <= 2 * MANY * size(&title(1)), "{}", links.bytes_of(8));
    }

    #[test]
    fn names_that_are_there_stay() {
        let mut links = Links::default();
        (0..1000).for_each(|number| links.add(7, None, title(number), |_| true));
        assert_eq!(links.objects().map(|(id, titles)| (id, titles.len())).collect::<Vec<_>>(), [(7, 1000)]);
        links.move_files(|id| (id != 1).then_some(id + 10));
        assert!(links.all().all(|(id, (directory, _))| id == 17 && [10, 12].contains(directory)));
        assert_eq!(links.all().count(), 667);
        assert_eq!(links.bytes(), links.bytes_of(17));
    }
}
