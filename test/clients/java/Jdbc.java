import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;

/**
 * Tests pgjdbc: the questions in each of its modes, then the tests of the
 * other classes.
 */
class Jdbc
{
	private Jdbc()
	{
	}

	public static void main(String[] arguments) throws Exception
	{
		for (String option : List.of("", "prepareThreshold=-1", "binaryTransfer=false",
			"preferQueryMode=simple", "preferQueryMode=extendedForPrepared"))
			try (Connection connection = connect(option))
			{
				for (Question question : Question.all())
					Tap.same(ask(connection, question, 1), question.rows, name(option, question.name));
			}
		generic();
		try (Connection connection = connect(""))
		{
			Catalog.test(connection);
			Cursors.test(connection);
			Writes.test(connection);
			Interrupts.test(connection);
		}
		Tap.done();
	}

	static Connection connect(String option) throws SQLException
	{
		return DriverManager.getConnection("jdbc:postgresql://" + System.getenv("PGHOST") + ":"
			+ System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE") + "?" + option,
			System.getenv("PGUSER"), System.getenv("PGPASSWORD"));
	}

	private static String name(String option, String name)
	{
		return "pgjdbc" + (option.isEmpty() ? "" : " " + option) + ": " + name;
	}

	/**
	 * Prepared statements on the server, from the fifth execution on, later
	 * with generic plans
	 */
	private static void generic() throws Exception
	{
		try (Connection connection = connect(""); Statement statement = connection.createStatement())
		{
			for (Question question : Question.all())
				Tap.same(ask(connection, question, 12), question.rows, name("generic plan", question.name));
			Tap.same(list(statement, "SELECT max(generic_plans) > 0 FROM pg_prepared_statements "
				+ "WHERE statement LIKE '%FROM memory%$1%'"), List.of(List.of(true)), "pgjdbc: it was generic");
		}
	}

	/**
	 * Return the answer to a question that is executed this number of times.
	 */
	private static List<List<Object>> ask(Connection connection, Question question, int times)
		throws SQLException
	{
		try (PreparedStatement statement = connection.prepareStatement(question.sql))
		{
			List<List<Object>> rows = null;

			for (int i = 0; i < times; i++)
			{
				bind(connection, statement, question);
				rows = list(statement.executeQuery());
			}
			return rows;
		}
	}

	private static void bind(Connection connection, PreparedStatement statement, Question question)
		throws SQLException
	{
		for (int i = 0; i < question.parameters.size(); i++)
		{
			String type = question.parameterTypes.get(i);
			Object value = question.parameters.get(i);

			if (value == null)
				statement.setNull(i + 1, Types.NULL);
			else if (value instanceof Object[])
				statement.setArray(i + 1, connection.createArrayOf(type.replace("[]", ""), (Object[]) value));
			else
				statement.setObject(i + 1, value);
		}
	}

	static List<List<Object>> list(Statement statement, String sql) throws SQLException
	{
		return list(statement.executeQuery(sql));
	}

	/** Return the rows of a result, and close it.  Times have a zone. */
	static List<List<Object>> list(ResultSet result) throws SQLException
	{
		List<List<Object>> rows = new ArrayList<>();

		while (result.next())
			rows.add(row(result));
		result.close();
		return rows;
	}

	static List<Object> row(ResultSet result) throws SQLException
	{
		List<Object> row = new ArrayList<>();

		for (int i = 1; i <= result.getMetaData().getColumnCount(); i++)
			row.add(result.getMetaData().getColumnTypeName(i).equals("timestamptz")
				? result.getObject(i, OffsetDateTime.class) : result.getObject(i));
		return row;
	}
}
