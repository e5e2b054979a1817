#include "schema/order_of_tags.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace psc {

namespace {

constexpr std::array<std::string_view, 2> kLists{"tags", "structures"}, kSchemas{"json_schema", "schema"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Cutter {
public:
    explicit Cutter(std::string_view document) : text_(document) { out_.reserve(document.size()); }

    std::optional<std::string> run() {
        std::size_t copied = 0;
        const auto copy = [&](std::size_t end) {
            out_.append(text_.substr(copied, end - copied));
            copied = end;
        };
        while (at_ < text_.size()) {
            if (text_[at_] != '"') {
                ++at_;
                continue;
            }
            const std::size_t begin = at_ + 1;
            if (!skip_string()) return std::nullopt;
            const std::string_view text = text_.substr(begin, at_ - 1 - begin);
            skip_space();
            if (at_ == text_.size() || text_[at_] != ':') continue;
            if (text.find('\\') != text.npos) return std::nullopt;
            ++at_;
            skip_space();
            if (std::ranges::find(kSchemas, text) != kSchemas.end()) {
                if (!skip_value()) return std::nullopt;
            } else if (std::ranges::find(kLists, text) != kLists.end() && at_ < text_.size() && text_[at_] == '[') {
                copy(++at_);
                if (!sort_list()) return std::nullopt;
                copied = at_;
            }
        }
        copy(text_.size());
        return std::move(out_);
    }

private:
    void skip_space() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    }

    // From the quote at which it begins.
    bool skip_string() {
        for (++at_; at_ < text_.size(); ++at_) {
            if (text_[at_] == '"') {
                ++at_;
                return true;
            }
            at_ += text_[at_] == '\\';
        }
        return false;
    }

    bool skip_value() {
        const std::size_t begin = at_;
        std::size_t n_open = 0;
        for (; at_ < text_.size(); ++at_) {
            const char c = text_[at_];
            if (c == '"') {
                if (!skip_string()) return false;
                --at_;
            } else if (c == '{' || c == '[') {
                ++n_open;
            } else if (n_open == 0 && (c == ',' || c == '}' || c == ']')) {
                break;
            } else if (c == '}' || c == ']') {
                --n_open;
            }
        }
        return n_open == 0 && at_ < text_.size() && at_ > begin;
    }

    // From after its bracket up to the closing one.
    bool sort_list() {
        std::vector<std::string_view> tags;
        skip_space();
        while (at_ < text_.size() && (text_[at_] != ']' || !tags.empty())) {
            const std::size_t begin = at_;
            if (!skip_value()) return false;
            std::size_t end = at_;
            while (is_space(text_[end - 1])) --end;
            tags.push_back(text_.substr(begin, end - begin));
            if (text_[at_] == ']') break;
            if (text_[at_] != ',') return false;
            ++at_;
            skip_space();
        }
        std::ranges::sort(tags);
        for (std::size_t i = 0; i < tags.size(); ++i) {
            if (i > 0) out_.push_back(',');
            out_.append(tags[i]);
        }
        return at_ < text_.size();
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::optional<std::string> in_order_of_tags(std::string_view document) { return Cutter(document).run(); }

}  // namespace psc
