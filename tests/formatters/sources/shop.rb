LIMITS = { "tries" => 3, 'wait': 0.5, }
class Basket
  NAME = "basket"; attr_reader :lines
  def initialize lines, name: "none"
    @lines = lines; @name = name
  end
  def total()
    return 0 if (lines.empty?())
    lines.map{|line| line.price }.sum * (1 + 2)
  end
  def text; "it's #{total()}" + 'a "b"' + "plain"; end
  def page
    <<-HTML.strip
one
  two
    HTML
  end
end
