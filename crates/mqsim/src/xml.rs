//! A small, strict reader of the XML in MQSim's files: elements and text, nothing else.
//!
//! Files are untrusted. Document types, entity definitions, processing instructions and attributes
//! are refused. Size, depth and number of elements are bounded, so that reading costs one pass over
//! the text.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use ssdtune_model::{Fault, Faults, Problem};

/// Longest text that is read. A drive takes 4 KiB; workloads of many scenarios are longer.
const BYTES_MAX: usize = 4 << 20;
/// Most elements of one file.
const ELEMENTS_MAX: usize = 100_000;
/// Most elements inside each other; MQSim's own files have three.
const DEPTH_MAX: usize = 8;

/// One element and all that is inside it.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// The line of its opening tag, from 1.
    pub(crate) line: usize,
    /// The text directly inside, without blanks at both ends.
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

/// A comment of a file.
#[derive(Debug)]
pub(crate) struct Comment {
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
    /// What stands between its two marks.
    pub(crate) text: String,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) root: Element,
    /// All comments, wherever they stand.
    pub(crate) comments: Vec<Comment>,
}

/// Reads a file.
///
/// # Errors
/// The first thing that is not XML or not allowed, with its line.
pub(crate) fn parse(text: &str) -> Result<File, Faults> {
    if text.len() > BYTES_MAX {
        let reason = format!("{} bytes; at most {BYTES_MAX} are read", text.len());
        return Err(Fault::new("", Problem::Unsupported { reason }).into());
    }
    let mut tree = Tree {
        text,
        line: 1,
        counted: 0,
        elements: 0,
        open: Vec::new(),
        root: None,
        comments: Vec::new(),
    };
    tree.read()?;
    let line = tree.line;
    match (tree.open.pop(), tree.root) {
        (Some(open), _) => Err(syntax(line, format!("the file ends inside <{}>", open.name))),
        (None, None) => Err(syntax(line, "there is no element in the file".to_owned())),
        (None, Some(root)) => Ok(File { root, comments: tree.comments }),
    }
}

/// A file while it is read.
struct Tree<'a> {
    text: &'a str,
    /// The line of the byte at `counted`.
    line: usize,
    /// Bytes whose line ends have been counted.
    counted: usize,
    /// Elements so far.
    elements: usize,
    /// Elements whose closing tag has not come, the outermost first.
    open: Vec<Element>,
    root: Option<Element>,
    comments: Vec<Comment>,
}

impl Tree<'_> {
    fn read(&mut self) -> Result<(), Faults> {
        let mut reader = Reader::from_str(self.text);
        loop {
            self.count_lines(reader.buffer_position() as usize);
            let event = reader.read_event().map_err(|error| {
                self.count_lines(reader.error_position() as usize);
                syntax(self.line, error.to_string())
            })?;
            match event {
                Event::Start(start) => self.start(&start)?,
                Event::Empty(start) => {
                    self.start(&start)?;
                    self.end()?;
                }
                Event::End(_) => self.end()?,
                Event::Text(text) => self.append(&text)?,
                Event::CData(text) => self.append(&text)?,
                Event::GeneralRef(entity) => self.entity(&entity)?,
                Event::Comment(text) => {
                    self.comments.push(Comment { line: self.line, text: (*text).to_owned() });
                }
                Event::Decl(_) => {}
                Event::DocType(_) => return Err(self.refuse("document types are not read")),
                Event::PI(_) => return Err(self.refuse("processing instructions are not read")),
                Event::Eof => return Ok(()),
            }
        }
    }

    fn count_lines(&mut self, position: usize) {
        let passed = self.text.as_bytes().get(self.counted..position).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
        self.counted = self.counted.max(position);
    }

    fn refuse(&self, reason: &str) -> Faults {
        let reason = format!("{reason}; remove it");
        Fault::new("", Problem::Unsupported { reason }).at_line(self.line).into()
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), Faults> {
        self.elements += 1;
        if self.open.len() >= DEPTH_MAX || self.elements > ELEMENTS_MAX {
            return Err(self.refuse("too many elements, or elements too deep in each other"));
        }
        if start.attributes().next().is_some() {
            return Err(self.refuse("attributes are not read"));
        }
        let name = start.name().as_ref().to_owned();
        self.open.push(Element {
            name,
            line: self.line,
            text: String::new(),
            children: Vec::new(),
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Faults> {
        // The reader has matched the names already.
        let Some(mut element) = self.open.pop() else { return Ok(()) };
        element.text = element.text.trim().to_owned();
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None if self.root.is_none() => self.root = Some(element),
            None => return Err(self.refuse("there is a second root element")),
        }
        Ok(())
    }

    fn append(&mut self, text: &str) -> Result<(), Faults> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim().trim_start_matches('\u{feff}').is_empty() => {}
            None => return Err(syntax(self.line, "text outside of the root element".to_owned())),
        }
        Ok(())
    }

    /// Appends one of XML's five predefined entities or a character given by its number.
    fn entity(&mut self, entity: &BytesRef<'_>) -> Result<(), Faults> {
        let bad = |line| syntax(line, "an entity that XML does not define".to_owned());
        if let Some(letter) = entity.resolve_char_ref().map_err(|_| bad(self.line))? {
            return self.append(letter.encode_utf8(&mut [0; 4]));
        }
        let text = resolve_predefined_entity(entity).ok_or_else(|| bad(self.line))?;
        self.append(text)
    }
}

fn syntax(line: usize, message: String) -> Faults {
    Fault::new("", Problem::Syntax { message: format!("not XML: {message}") }).at_line(line).into()
}

/// `text` with the letters escaped that XML reserves.
pub(crate) fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    quick_xml::escape::escape(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn elements_text_and_lines() {
        let file =
            parse("<?xml version=\"1.0\"?>\n<a>\n <b> x &amp; &#65; </b><!-- c -->\n <c/>\n</a>\n");
        let File { root, comments } = file.unwrap();
        let [Comment { line: 3, text }] = comments.as_slice() else { panic!("{comments:?}") };
        assert_eq!(text, " c ");
        assert_eq!((root.name.as_str(), root.line, root.children.len()), ("a", 2, 2));
        assert_eq!((root.children[0].text.as_str(), root.children[0].line), ("x & A", 3));
        assert_eq!(root.children[1].line, 4);
    }

    #[test]
    fn hostile_and_broken_files_are_refused_with_their_line() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbb\"><!ENTITY c \"&b;&b;\">]>\n<a>&c;</a>";
        assert!(complaint(bomb).contains("document types are not read"));
        assert!(complaint("<a>\n&lol;</a>").starts_with("line 2: not XML: an entity"));
        assert!(complaint("<a>&#xD800;</a>").contains("an entity"));
        assert!(complaint("<a>\n<b>").contains("the file ends inside <b>"));
        assert!(complaint("<a>\n</b>").starts_with("line 2: not XML"));
        assert!(complaint("<a/><a/>").contains("second root"));
        assert!(complaint("<a x='1'/>").contains("attributes"));
        assert!(complaint("").contains("no element"));
        assert!(complaint("hello").contains("outside"));
        assert!(complaint(&"<a>".repeat(9)).contains("too deep"));
        assert!(complaint(&" ".repeat(BYTES_MAX + 1)).contains("at most"));
    }
}
