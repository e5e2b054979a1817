// Parses HTML from standard input with the parser of the Nu HTML checker, one answer line each; see conversation.py for the format.
// A text is a document if it begins with a doctype or <html>, else what stands in an element `body`. JSON in a script is parsed, too.

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import nu.validator.htmlparser.common.XmlViolationPolicy;
import nu.validator.htmlparser.sax.HtmlParser;
import org.xml.sax.*;
import org.xml.sax.helpers.DefaultHandler;

public class ParseHtml {
    private static final Pattern DOCUMENT = Pattern.compile("^(\\s|<!--.*?-->)*+<(!doctype|html[\\s>])", Pattern.CASE_INSENSITIVE | Pattern.DOTALL);
    private static final Pattern JSON_TYPE =
            Pattern.compile("(application/([a-z.-]+\\+)?json|importmap|speculationrules)", Pattern.CASE_INSENSITIVE);
    private static final Pattern ATOM =
            Pattern.compile("\"([^\"\\\\\\x00-\\x1f]|\\\\([\"\\\\/bfnrt]|u[0-9a-fA-F]{4}))*\"|-?(0|[1-9]\\d*)(\\.\\d+)?([eE][-+]?\\d+)?|true|false|null");

    // The first error, and JSON that is none.
    private static final class Errors extends DefaultHandler {
        String first = "";
        private StringBuilder json;

        @Override
        public void error(SAXParseException e) {
            if (first.isEmpty()) first = e.getLineNumber() + ":" + e.getColumnNumber() + ":" + e.getMessage().lines().findFirst().orElse("");
        }

        @Override
        public void fatalError(SAXParseException e) {
            error(e);
        }

        @Override
        public void startElement(String uri, String name, String qualified, Attributes attributes) {
            String type = attributes.getValue("type");
            json = name.equals("script") && type != null && JSON_TYPE.matcher(type).matches() ? new StringBuilder() : null;
        }

        @Override
        public void characters(char[] text, int start, int length) {
            if (json != null) json.append(text, start, length);
        }

        @Override
        public void endElement(String uri, String name, String qualified) {
            if (json != null && first.isEmpty() && !isJson(json.toString())) first = "0:0:no JSON";
            json = null;
        }
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException end) {
                return;
            }
            out.print(judge(new String(in.readNBytes(length), StandardCharsets.UTF_8)) + "\n");
            out.flush();
        }
    }

    private static String judge(String text) {
        Errors errors = new Errors();
        HtmlParser parser = new HtmlParser(XmlViolationPolicy.ALLOW);
        parser.setErrorHandler(errors);
        parser.setContentHandler(errors);
        InputSource source = new InputSource(new StringReader(text));
        try {
            if (DOCUMENT.matcher(text).find()) parser.parse(source);
            else parser.parseFragment(source, "body");
        } catch (Exception e) {
            return "0:0:" + e.getClass().getSimpleName();
        }
        return errors.first;
    }

    private static boolean isJson(String text) {
        int end = value(text, skip(text, 0));
        return end >= 0 && skip(text, end) == text.length();
    }

    private static int skip(String text, int at) {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) at++;
        return at;
    }

    // Where a value ends that begins at a place, or -1.
    private static int value(String text, int at) {
        if (at >= text.length()) return -1;
        char open = text.charAt(at);
        if (open != '{' && open != '[') {
            var atom = ATOM.matcher(text).region(at, text.length());
            return atom.lookingAt() ? atom.end() : -1;
        }
        char close = open == '{' ? '}' : ']';
        at = skip(text, at + 1);
        if (at < text.length() && text.charAt(at) == close) return at + 1;
        while (true) {
            if (open == '{') {
                if (at >= text.length() || text.charAt(at) != '"') return -1;
                at = value(text, at);
                if (at < 0) return -1;
                at = skip(text, at);
                if (at >= text.length() || text.charAt(at) != ':') return -1;
                at = skip(text, at + 1);
            }
            at = value(text, at);
            if (at < 0) return -1;
            at = skip(text, at);
            if (at >= text.length()) return -1;
            if (text.charAt(at) == close) return at + 1;
            if (text.charAt(at) != ',') return -1;
            at = skip(text, at + 1);
        }
    }
}
