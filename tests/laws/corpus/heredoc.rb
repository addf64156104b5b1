a = <<~X + <<-Y
#{b
X
