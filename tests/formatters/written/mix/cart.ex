defmodule Shop.Cart do
  @moduledoc "The cart of the shop."
  use GenServer
  import Ecto.Query, only: [from: 2, where: 3]
  alias Shop.{Item, Price}
  require Logger

  @timeout 30000
  @limit 1_000_000
  @mask 0xFFEE
  @rates [{:de, 0.19}, {:fr, 0.20}]
  @type t :: %__MODULE__{items: list, total: integer}
  @attempts 3
  defstruct items: [], total: 0, note: ""

  @spec total(t) :: integer
  def total(cart) do
    Enum.sum(Enum.map(cart.items, fn item -> item.price * item.count end))
  end

  def add(cart, item) when is_map(item) and (is_integer(item.count) or item.count == nil) do
    items = [item | cart.items]
    %{cart | items: items, total: cart.total + item.price}
  end

  def add(cart, nil), do: cart

  def remove(cart, id) do
    cart.items |> Enum.reject(&(&1.id == id)) |> length
  end

  def price(%{net: net, rate: rate}) do
    if rate > 0 do
      net * (1 + rate)
    else
      net
    end
  end

  def fetch(id, opts \\ []) do
    tries = Keyword.get(opts, :tries, 3)

    case Repo.get(Item, id) do
      nil -> {:error, :missing}
      # it was deleted
      %Item{state: :gone} = item -> {:error, {:gone, item.id}}
      item when tries > 0 -> {:ok, item}
    end
  end

  defp retry(fun, tries) do
    try do
      fun.()
    rescue
      e in [RuntimeError, ArgumentError] ->
        Logger.warn("failed: #{inspect(e)}")
        if tries > 0, do: retry(fun, tries - 1), else: reraise(e, __STACKTRACE__)
    after
      Logger.flush()
    end
  end

  def names(cart) do
    for item <- cart.items, item.count > 0, into: %{}, do: {item.id, item.name}
  end

  def query(min) do
    from(i in Item,
      where: i.price > ^min and not is_nil(i.name),
      order_by: [desc: i.price],
      select: %{id: i.id, name: i.name, price: i.price}
    )
  end

  def handle_call({:add, item}, _from, state) do
    x = 1
    y = 2
    new = %{state | items: [item | state.items], total: state.total + item.price * (x + y)}
    {:reply, :ok, new, @timeout}
  end

  def with_all(a, b) do
    with {:ok, x} <- fetch(a),
         {:ok, y} <- fetch(b),
         do: {:ok, x.price + y.price}
  end

  def text(cart) do
    """
    You have #{length(cart.items)} items,
      for (#{cart.total}) in total.
    """
  end

  def sigils do
    [~w(a b c)a, ~r/(\d+)/, ~s(it's), 'abc', ?a]
  end

  def unless_empty(cart) do
    unless Enum.empty?(cart.items), do: cart
  end

  def deep(a, b, c) do
    (a not in b && !c) || (a + b) * c > (a and (b and c)) || -a ** 2
  end

  def pipes(list),
    do:
      list
      |> Enum.map(fn x -> x + 1 end)
      |> Enum.filter(fn x -> rem(x, 2) == 0 end)
      |> Enum.sort_by(& &1.name)
      |> Enum.take(100)

  def capture do
    Enum.map([1, 2], &Integer.to_string/1)
    f = &(&1 + 1)
    f.(2)
  end

  def bits(<<a::size(8), rest::binary>>), do: <<rest::binary, a::8>>

  def keyword(opts), do: Keyword.merge([{:a, 1}, {:b, 2}], opts)

  def long_call(a, b) do
    Shop.Remote.Service.call_with_many_arguments(a, b,
      timeout: 5000,
      retries: 3,
      backoff: :exponential,
      log: true
    )
  end

  def comp(a, b), do: (a < b and b <= 3) or a! = b and a === 1
  def str(a), do: "total: " <> Integer.to_string(a) <> " of " <> "#{a}"
  def ops(a), do: a |> (fn x -> x end).() |> to_string

  def recv do
    receive do
      {:msg, m} -> m
    after
      5_000 -> :timeout
    end
  end

  def conds(x) do
    cond do
      x > 1 -> :a
      x == 1 -> :b
      true -> :c
    end
  end

  defmacro mac(x) do
    quote do: unquote(x) + 1
  end

  defdelegate fetch_all(x), to: Shop.Repo
  def guard(x) when x in [1, 2, 3] when is_nil(x), do: x
  def map_access(m), do: m[:a][:b].c
  def anon, do: fn -> :ok end

  def multi,
    do: fn
      1 -> :one
      _ -> :other
    end

  def range, do: Enum.to_list(1..10)
  def default(x), do: x || raise("no value")
  def raises(x), do: raise(ArgumentError, message: "bad #{x}")
  def tuple(), do: {1, 2}
  def bool(a, b), do: (a || b) && !a
  def cat(a, b), do: a ++ b ++ [1]
  def subs(a, b), do: a - (b - 1)
  def left(a, b), do: a - b - 1
  def neg(a), do: -(a + 1)

  def assigned(a) do
    b = a + 1
    {c, d} = {b, a}
    c + d
  end
end
