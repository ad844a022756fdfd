import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A question of questions.sql, as values of Java. */
class Question
{
	final String name;
	/** With a ? for each parameter */
	String sql = "";
	/**
	 * The types of the parameters, and their values; an array is an Object[]
	 */
	final List<String> parameterTypes = new ArrayList<>();
	final List<Object> parameters = new ArrayList<>();
	/** The types of the answer's columns, and its rows */
	List<String> types;
	final List<List<Object>> rows = new ArrayList<>();

	private Question(String name)
	{
		this.name = name;
	}

	static List<Question> all() throws IOException
	{
		List<Question> questions = new ArrayList<>();

		for (String line : Files.readAllLines(Path.of("test/clients/questions.sql")))
		{
			if (line.startsWith("-- @ "))
				questions.add(new Question(line.substring(5)));
			else if (!questions.isEmpty() && !line.isEmpty())
				questions.get(questions.size() - 1).read(line);
		}
		return questions;
	}

	private void read(String line)
	{
		if (line.startsWith("-- ? "))
		{
			String[] words = line.substring(5).split(" ", 2);

			parameterTypes.add(words[0]);
			parameters.add(value(words[0], words[1]));
		}
		else if (line.startsWith("-- = "))
			types = Arrays.asList(line.substring(5).split(" \\| "));
		else if (line.startsWith("-- "))
		{
			String[] words = line.substring(3).split(" \\| ");
			List<Object> row = new ArrayList<>();

			for (int i = 0; i < words.length; i++)
				row.add(value(types.get(i), words[i]));
			rows.add(row);
		}
		else
			sql += line + "\n";
	}

	private static Object value(String type, String text)
	{
		if (text.equals("null"))
			return null;
		if (type.endsWith("[]"))
			return Arrays.stream(text.split(","))
				.map(one -> value(type.substring(0, type.length() - 2), one)).toArray();
		switch (type)
		{
			case "bigint":
				return Long.valueOf(text);
			case "bool":
				return Boolean.valueOf(text);
			case "float8":
				return Double.valueOf(text);
			case "int":
				return Integer.valueOf(text);
			case "numeric":
				return new BigDecimal(text);
			case "text":
				return text;
			case "timestamptz":
				return OffsetDateTime.parse(text);
			default:
				throw new IllegalArgumentException(type);
		}
	}
}
