// Parses Kotlin texts from standard input with the Kotlin compiler's own parser, one answer line each; see conversation.py for the format.
//
// The compiler's jar is on the class path. Its parser leaves to what is behind it what the language's own grammar forbids; so a text
// is looked at for these, by the names of the compiler's errors: declarations, assignments and loops where an expression is expected,
// what is no name behind a dot, functions without a name or a body, parameters without a type, modifiers without `constructor`, and targets of assignments.

import com.intellij.lang.LighterASTNode;
import com.intellij.openapi.util.Disposer;
import com.intellij.openapi.util.Ref;
import com.intellij.psi.tree.IElementType;
import com.intellij.util.diff.FlyweightCapableTreeStructure;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.jetbrains.kotlin.KtNodeTypes;
import org.jetbrains.kotlin.cli.jvm.compiler.IdeaStandaloneExecutionSetup;
import org.jetbrains.kotlin.cli.jvm.compiler.KotlinCoreEnvironment;
import org.jetbrains.kotlin.config.CompilerConfiguration;
import org.jetbrains.kotlin.lexer.KtTokens;
import org.jetbrains.kotlin.parsing.KotlinLightParser;

public class ParseKotlin {
    private record Found(int start, String message) {}

    private record Place(LighterASTNode node, IElementType parent, boolean isStatement) {}

    private static final Set<IElementType> DECLARATIONS = Set.of(
            KtNodeTypes.CLASS, KtNodeTypes.OBJECT_DECLARATION, KtNodeTypes.PROPERTY, KtNodeTypes.TYPEALIAS,
            KtNodeTypes.DESTRUCTURING_DECLARATION);
    private static final Set<IElementType> AMONG_DECLARATIONS = Set.of(
            KtNodeTypes.BLOCK, KtNodeTypes.CLASS_BODY, KtNodeTypes.OBJECT_LITERAL, KtNodeTypes.WHEN, KtNodeTypes.VALUE_PARAMETER,
            KtNodeTypes.FOR);
    private static final Set<IElementType> LOOPS = Set.of(KtNodeTypes.FOR, KtNodeTypes.WHILE, KtNodeTypes.DO_WHILE);
    private static final Set<IElementType> WITH_STATEMENTS = Set.of(
            KtNodeTypes.BLOCK, KtNodeTypes.BODY, KtNodeTypes.THEN, KtNodeTypes.ELSE, KtNodeTypes.WHEN_ENTRY);
    private static final Set<IElementType> AROUND = Set.of(KtNodeTypes.LABELED_EXPRESSION, KtNodeTypes.ANNOTATED_EXPRESSION);
    private static final Set<IElementType> ACCESSES = Set.of(KtNodeTypes.DOT_QUALIFIED_EXPRESSION, KtNodeTypes.SAFE_ACCESS_EXPRESSION);
    private static final Set<IElementType> SELECTORS = Set.of(KtNodeTypes.REFERENCE_EXPRESSION, KtNodeTypes.PARENTHESIZED);
    private static final Set<IElementType> COMPOUND = Set.of(
            KtTokens.PLUSEQ, KtTokens.MINUSEQ, KtTokens.MULTEQ, KtTokens.DIVEQ, KtTokens.PERCEQ);
    private static final Set<IElementType> NO_TARGETS = Set.of(
            KtNodeTypes.BINARY_EXPRESSION, KtNodeTypes.BINARY_WITH_TYPE, KtNodeTypes.IS_EXPRESSION, KtNodeTypes.PREFIX_EXPRESSION);
    private static final Set<IElementType> TARGETS = Set.of(
            KtNodeTypes.REFERENCE_EXPRESSION, KtNodeTypes.ARRAY_ACCESS_EXPRESSION, KtNodeTypes.PARENTHESIZED,
            KtNodeTypes.DOT_QUALIFIED_EXPRESSION, KtNodeTypes.SAFE_ACCESS_EXPRESSION, KtNodeTypes.LABELED_EXPRESSION,
            KtNodeTypes.ANNOTATED_EXPRESSION);

    public static void main(String[] arguments) throws IOException {
        IdeaStandaloneExecutionSetup.INSTANCE.doSetup();
        KotlinCoreEnvironment.Companion.getOrCreateApplicationEnvironmentForProduction(
                Disposer.newDisposable("psc"), new CompilerConfiguration());
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException end) {
                return;
            }
            String text = new String(in.readNBytes(length), StandardCharsets.UTF_8).replace("\r\n", "\n");
            Found found = judge(text);
            if (found != null) {
                String before = text.substring(0, Math.min(found.start(), text.length()));
                long line = 1 + before.chars().filter(c -> c == '\n').count();
                String message = found.message().lines().findFirst().orElse("");
                out.print(line + ":" + (before.length() - before.lastIndexOf('\n')) + ":" + message);
            }
            out.print("\n");
            out.flush();
        }
    }

    private static Found judge(String text) {
        Found[] error = new Found[1];
        FlyweightCapableTreeStructure<LighterASTNode> tree = KotlinLightParser.INSTANCE.buildLightTree(text, null, (start, end, message) -> {
            if (error[0] == null) {
                error[0] = new Found(start, message == null ? "" : message);
            }
        });
        if (error[0] != null) {
            return error[0];
        }
        Deque<Place> todo = new ArrayDeque<>();
        for (LighterASTNode child : children(tree, tree.getRoot())) {
            todo.add(new Place(child, KtNodeTypes.CLASS_BODY, true));
        }
        while (!todo.isEmpty()) {
            Place place = todo.removeLast();
            List<LighterASTNode> children = children(tree, place.node());
            String message = wrong(tree, place, children);
            if (message != null) {
                return new Found(place.node().getStartOffset(), message);
            }
            IElementType type = place.node().getTokenType();
            boolean hold = WITH_STATEMENTS.contains(type) || (AROUND.contains(type) && place.isStatement());
            IElementType parent = AROUND.contains(type) ? place.parent() : type;
            for (LighterASTNode child : children) {
                todo.add(new Place(child, parent, hold));
            }
        }
        return null;
    }

    private static String wrong(FlyweightCapableTreeStructure<LighterASTNode> tree, Place place, List<LighterASTNode> children) {
        IElementType type = place.node().getTokenType();
        if (DECLARATIONS.contains(type) && !AMONG_DECLARATIONS.contains(place.parent())) {
            return "DECLARATION_IN_ILLEGAL_CONTEXT";
        }
        if (type == KtNodeTypes.FUN) {
            boolean named = has(children, KtTokens.IDENTIFIER);
            if (named && !AMONG_DECLARATIONS.contains(place.parent())) {
                return "DECLARATION_IN_ILLEGAL_CONTEXT";
            }
            if (!named && place.parent() == KtNodeTypes.CLASS_BODY) {
                return "FUNCTION_DECLARATION_WITH_NO_NAME";
            }
            if (!named && !has(children, KtNodeTypes.BLOCK) && !has(children, KtTokens.EQ)) {
                return "NON_MEMBER_FUNCTION_NO_BODY";
            }
            for (LighterASTNode list : children) {
                if (named && list.getTokenType() == KtNodeTypes.VALUE_PARAMETER_LIST && !typed(tree, list)) {
                    return "VALUE_PARAMETER_WITH_NO_TYPE_ANNOTATION";
                }
            }
        }
        if (type == KtNodeTypes.PRIMARY_CONSTRUCTOR && has(children, KtNodeTypes.MODIFIER_LIST)
                && !has(children, KtTokens.CONSTRUCTOR_KEYWORD)) {
            return "MISSING_CONSTRUCTOR_KEYWORD";
        }
        if (LOOPS.contains(type) && !place.isStatement()) {
            return "EXPRESSION_EXPECTED: a loop";
        }
        if (type == KtNodeTypes.BINARY_EXPRESSION && children.size() > 1) {
            IElementType sign = children(tree, children.get(1)).stream().findFirst().map(LighterASTNode::getTokenType).orElse(null);
            IElementType target = children.get(0).getTokenType();
            if (sign == KtTokens.EQ || COMPOUND.contains(sign)) {
                if (!place.isStatement()) {
                    return "EXPRESSION_EXPECTED: an assignment";
                }
                if (sign == KtTokens.EQ ? !TARGETS.contains(target) : NO_TARGETS.contains(target)) {
                    return "VARIABLE_EXPECTED";
                }
                LighterASTNode selector = ACCESSES.contains(target) ? last(children(tree, children.get(0))) : null;
                if (sign == KtTokens.EQ && selector != null && selector.getTokenType() == KtNodeTypes.CALL_EXPRESSION) {
                    return "VARIABLE_EXPECTED";
                }
            }
        }
        if (ACCESSES.contains(type)) {
            LighterASTNode selector = last(children);
            while (selector.getTokenType() == KtNodeTypes.CALL_EXPRESSION) {
                selector = children(tree, selector).get(0);
            }
            if (!SELECTORS.contains(selector.getTokenType())) {
                return "ILLEGAL_SELECTOR";
            }
        }
        return null;
    }

    private static boolean typed(FlyweightCapableTreeStructure<LighterASTNode> tree, LighterASTNode list) {
        for (LighterASTNode parameter : children(tree, list)) {
            if (parameter.getTokenType() == KtNodeTypes.VALUE_PARAMETER && !has(children(tree, parameter), KtNodeTypes.TYPE_REFERENCE)) {
                return false;
            }
        }
        return true;
    }

    private static boolean has(List<LighterASTNode> nodes, IElementType type) {
        return nodes.stream().anyMatch(node -> node.getTokenType() == type);
    }

    private static LighterASTNode last(List<LighterASTNode> nodes) {
        return nodes.get(nodes.size() - 1);
    }

    /** What is below a node, without blanks and comments. */
    private static List<LighterASTNode> children(FlyweightCapableTreeStructure<LighterASTNode> tree, LighterASTNode node) {
        Ref<LighterASTNode[]> found = new Ref<>();
        int n = tree.getChildren(node, found);
        List<LighterASTNode> children = new ArrayList<>(n);
        for (int i = 0; i < n; i++) {
            LighterASTNode child = found.get()[i];
            if (child != null && !KtTokens.WHITE_SPACE_OR_COMMENT_BIT_SET.contains(child.getTokenType())) {
                children.add(child);
            }
        }
        return children;
    }
}
