import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;

/**
 * Tests that a query of hours can be cancelled, and that the session then
 * works.
 */
class Interrupts
{
	private static final String LONG = "SELECT count(highest) FROM generate_series(1, 1000000) AS n, "
		+ "LATERAL (SELECT max(value) AS highest FROM memory WHERE value > n) AS m";

	private Interrupts()
	{
	}

	static void test(Connection connection) throws SQLException
	{
		try (Statement statement = connection.createStatement())
		{
			Timer timer = new Timer(true);

			timer.schedule(new TimerTask()
			{
				@Override
				public void run()
				{
					try
					{
						statement.cancel();
					}
					catch (SQLException error)
					{
						throw new IllegalStateException(error);
					}
				}
			}, 1000);
			fails(statement, "pgjdbc: cancel()");
			statement.setQueryTimeout(1);
			fails(statement, "pgjdbc: setQueryTimeout()");
			statement.setQueryTimeout(0);
			Tap.same(Jdbc.list(statement, "SELECT count(*) FROM stocks"), List.of(List.of(27000L)),
				"pgjdbc: the session goes on");
		}
	}

	private static void fails(Statement statement, String name)
	{
		long begin = System.nanoTime();

		try
		{
			statement.executeQuery(LONG);
			Tap.ok(false, name);
		}
		catch (SQLException error)
		{
			Tap.same(error.getSQLState(), "57014", name);
			Tap.ok(System.nanoTime() - begin < 60_000_000_000L, name + ": soon");
		}
	}
}
