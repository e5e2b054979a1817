// The text of a structural tag with its tags in one order: documents that differ in the order of their tags only have it in common.
//
// In which order the tags of a list stand is no matter to what it means. An agent's turns bring the same tools again, and not always in
// one order, so what one document came to is found by this text for the others.
//
// Nothing is checked: the text is cut at brackets, quotes and commas. But the text of a document that is JSON is the text of no document
// that is not: it is made of the same pieces.
//
// Cost: 1 ns a byte, and sorting the tags.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace psc {

// Lists of tags are those of the keys "tags" and "structures", but for those inside of a tag, or of a schema. None where a key is
// spelled with an escape, so that its name is not to be seen, or a value is not over.
std::optional<std::string> in_order_of_tags(std::string_view document);

}  // namespace psc
