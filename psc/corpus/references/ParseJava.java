// Parses Java texts from standard input with javac's own parser, one answer line each; see conversation.py for the format.

import com.sun.source.util.JavacTask;
import java.io.*;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import javax.tools.*;

public class ParseJava {
    static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String text) {
            super(URI.create("string:///Text.java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    public static void main(String[] arguments) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException end) {
                return;
            }
            String text = new String(in.readNBytes(length), StandardCharsets.UTF_8);
            out.print(judge(compiler, files, text) + "\n");
            out.flush();
        }
    }

    private static String judge(JavaCompiler compiler, StandardJavaFileManager files, String text) {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        try {
            JavacTask task = (JavacTask) compiler.getTask(
                    Writer.nullWriter(), files, found, List.of("-proc:none", "-implicit:none"), null, List.of(new Source(text)));
            task.parse();
        } catch (Exception e) {
            return "0:0:" + e.getClass().getSimpleName();
        }
        for (Diagnostic<? extends JavaFileObject> d : found.getDiagnostics()) {
            if (d.getKind() == Diagnostic.Kind.ERROR) {
                String message = d.getMessage(Locale.ROOT).lines().findFirst().orElse("");
                return d.getLineNumber() + ":" + d.getColumnNumber() + ":" + message;
            }
        }
        return "";
    }
}
