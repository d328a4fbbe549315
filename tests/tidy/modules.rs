//! The modules of a crate, and what they name: enough of Rust's scoping to tell which uses which.
//!
//! Paths are resolved through imports and re-exports to the module that defines the name. What
//! `#[cfg(test)]` hides is left out. Methods and fields are not resolved: who calls them has named
//! their type or was handed a value by somebody who had.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// A place in [`Crate::modules`].
pub type Id = usize;

/// The modules of one crate; the first is its root.
#[derive(Default)]
pub struct Crate {
    /// All modules, parents before children.
    pub modules: Vec<Module>,
}

/// One module, in a file of its own or not.
pub struct Module {
    /// Path of the file it stands in.
    pub file: String,
    /// The module it is declared in.
    pub parent: Option<Id>,
    children: BTreeMap<String, Id>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Every path the code names, imports included.
    pub mentions: BTreeSet<Vec<String>>,
    /// What the variants of `clap`'s subcommands hold.
    pub commands: BTreeSet<Vec<String>>,
}

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A module.
    Module(Id),
    /// Something defined in that module.
    Item(Id),
}

impl Crate {
    /// Reads a crate's modules, beginning with its root file. `text` reads a file, if there is one.
    pub fn read(root: &str, text: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut whole = Self::default();
        let directory = root.rsplit_once('/').map_or("", |(directory, _)| directory);
        whole.add_file(root, directory, None, text);
        whole
    }

    /// Adds the module of a file and all below it; the files of its children lie in `directory`.
    fn add_file(
        &mut self,
        file: &str,
        directory: &str,
        parent: Option<Id>,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> Id {
        let source = text(file).unwrap_or_else(|| panic!("{file} is missing"));
        let syntax = syn::parse_file(&source).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.add_items(&syntax.items, file, directory, parent, text)
    }

    fn add_items(
        &mut self,
        items: &[syn::Item],
        file: &str,
        directory: &str,
        parent: Option<Id>,
        text: &dyn Fn(&str) -> Option<String>,
    ) -> Id {
        let id = self.modules.len();
        self.modules.push(Module::new(file, parent));
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            let syn::Item::Mod(module) = item else {
                self.modules[id].add_item(item);
                continue;
            };
            let name = module.ident.to_string();
            let below = format!("{directory}/{name}");
            let child = match &module.content {
                Some((_, items)) => self.add_items(items, file, &below, Some(id), text),
                None => self.add_file(&format!("{below}.rs"), &below, Some(id), text),
            };
            self.modules[id].children.insert(name, child);
        }
        id
    }

    /// Where a path named in a module leads to, if into this crate.
    pub fn resolve(&self, from: Id, path: &[String]) -> Option<Target> {
        self.resolve_guarded(from, path, &mut BTreeSet::new())
    }

    fn resolve_guarded(
        &self,
        from: Id,
        path: &[String],
        seen: &mut BTreeSet<(Id, String)>,
    ) -> Option<Target> {
        let (head, rest) = path.split_first()?;
        let mut at = match head.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent?),
            name => self.look_up(from, name, seen)?,
        };
        for name in rest {
            let Target::Module(module) = at else { break };
            at = match name.as_str() {
                "super" => Target::Module(self.modules[module].parent?),
                "self" => at,
                // What a macro defines is not seen; it stands where it is looked for.
                name => self.look_up(module, name, seen).unwrap_or(Target::Item(module)),
            };
        }
        Some(at)
    }

    /// What a name means in a module.
    fn look_up(&self, id: Id, name: &str, seen: &mut BTreeSet<(Id, String)>) -> Option<Target> {
        let module = &self.modules[id];
        if let Some(&child) = module.children.get(name) {
            return Some(Target::Module(child));
        }
        if module.items.contains(name) {
            return Some(Target::Item(id));
        }
        if !seen.insert((id, name.to_owned())) {
            return None;
        }
        if let Some(path) = module.imports.get(name) {
            return self.resolve_guarded(id, path, seen);
        }
        module.globs.iter().find_map(|path| {
            let Target::Module(other) = self.resolve_guarded(id, path, seen)? else { return None };
            self.look_up(other, name, seen)
        })
    }

    /// The modules from the root to a module, both included.
    pub fn way_to(&self, id: Id) -> Vec<Id> {
        let mut way = vec![id];
        while let Some(parent) = self.modules[way[way.len() - 1]].parent {
            way.push(parent);
        }
        way.reverse();
        way
    }

    /// The module whose file is `file`.
    pub fn of_file(&self, file: &str) -> Id {
        let own = self.modules.iter().position(|module| module.file == file);
        own.unwrap_or_else(|| panic!("{file} is no module"))
    }
}

impl Module {
    fn new(file: &str, parent: Option<Id>) -> Self {
        Self {
            file: file.to_owned(),
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
            mentions: BTreeSet::new(),
            commands: BTreeSet::new(),
        }
    }

    fn add_item(&mut self, item: &syn::Item) {
        let name = match item {
            syn::Item::Const(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Fn(item) => Some(&item.sig.ident),
            syn::Item::Macro(item) => item.ident.as_ref(),
            syn::Item::Static(item) => Some(&item.ident),
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::TraitAlias(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.items.extend(name.map(ToString::to_string));
        self.visit_item(item);
    }

    fn add_import(&mut self, prefix: &mut Vec<String>, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_import(prefix, &path.tree);
                prefix.pop();
            }
            syn::UseTree::Name(name) => self.import(prefix, &name.ident, &name.ident),
            syn::UseTree::Rename(rename) => self.import(prefix, &rename.ident, &rename.rename),
            syn::UseTree::Glob(_) => {
                self.globs.push(prefix.clone());
                self.mentions.insert(prefix.clone());
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_import(prefix, tree));
            }
        }
    }

    /// Notes `use prefix::name as alias`; `use prefix::{self}` imports the prefix itself.
    fn import(&mut self, prefix: &[String], name: &syn::Ident, alias: &syn::Ident) {
        let mut path = prefix.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let alias = match alias.to_string() {
            own if own == "self" => path.last().cloned().unwrap_or(own),
            own => own,
        };
        self.mentions.insert(path.clone());
        // In its own scope a name does not lead to itself: `use serde::de;` names another crate.
        if path.len() > 1 || path[0] != alias {
            self.imports.insert(alias, path);
        }
    }

    /// Paths in what a macro is given, which only the macro could parse.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if colons == 2 => path.push(word.to_string()),
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                other => {
                    self.mentions.insert(std::mem::take(&mut path));
                    match other {
                        TokenTree::Ident(word) => path.push(word.to_string()),
                        TokenTree::Group(group) => self.add_tokens(group.stream()),
                        _ => {}
                    }
                }
            }
            colons = 0;
        }
        self.mentions.insert(path);
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_import(&mut Vec::new(), &item.tree);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if derives(item, "Subcommand") {
            for field in item.variants.iter().flat_map(|variant| &variant.fields) {
                self.commands.insert(innermost(&field.ty));
            }
        }
        syn::visit::visit_item_enum(self, item);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::a)` uses nothing of it.
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.mentions.insert(names(path));
        syn::visit::visit_path(self, path);
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.add_tokens(list.tokens.clone());
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.mentions.insert(names(&item.path));
        self.add_tokens(item.tokens.clone());
    }
}

fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The path of a type, a `Box` around it taken off.
fn innermost(of: &syn::Type) -> Vec<String> {
    let syn::Type::Path(path) = of else { return Vec::new() };
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    if let syn::PathArguments::AngleBracketed(inner) = &last.arguments
        && let Some(syn::GenericArgument::Type(inner)) = inner.args.first()
        && last.ident == "Box"
    {
        return innermost(inner);
    }
    names(&path.path)
}

fn derives(item: &syn::ItemEnum, what: &str) -> bool {
    let named = |attribute: &syn::Attribute| match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("derive") => {
            list.tokens.clone().into_iter().any(|token| token.to_string() == what)
        }
        _ => false,
    };
    item.attrs.iter().any(named)
}

/// Whether something is compiled for unit tests alone: `#[cfg(test)]`, `#[cfg(all(test, …))]`,
/// `#[test]`.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let mut words: Vec<String> = Vec::new();
            for token in list.tokens.clone() {
                match token {
                    TokenTree::Group(group) if words == ["all"] => {
                        words.extend(group.stream().into_iter().map(|token| token.to_string()));
                        words.remove(0);
                    }
                    other => words.push(other.to_string()),
                }
            }
            words.first().is_some_and(|word| word == "test")
                || words.windows(2).any(|pair| pair == [",", "test"])
        }
        _ => false,
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
