package example;

/** Says hello. */
public class Hello {
    public static void main(String[] args) {
        int n = args.length;
        System.out.println("Hello, " + (n > 0 ? args[0] : "world") + "!");
    }
}
