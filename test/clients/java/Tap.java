import java.util.Objects;

/** Prints TAP. */
class Tap
{
	private static int count;
	private static int failures;

	private Tap()
	{
	}

	static boolean ok(boolean isOk, String name)
	{
		count++;
		if (!isOk)
			failures++;
		System.out.println((isOk ? "ok " : "not ok ") + count + " - " + name);
		return isOk;
	}

	static void same(Object got, Object expected, String name)
	{
		if (!ok(Objects.equals(got, expected), name))
			System.out.println("#      got: " + got + "\n# expected: " + expected);
	}

	static void done()
	{
		System.out.println("1.." + count);
		System.exit(failures > 0 ? 1 : 0);
	}
}
